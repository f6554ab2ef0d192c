/* complaint.h - what was wrong with an object, in one line.  The caller reports
 * a refused index. */
#ifndef HW_COMPLAINT_H
#define HW_COMPLAINT_H

#include <stdbool.h>
#include <stddef.h>

struct complaint {
    const char *trouble; /* libbfd's with the file; "" */
    const size_t *why;   /* by enum dwarf_why: number of addresses */
    bool by_bfd;         /* libbfd has named those that it may */
};

/* "" if nothing was wrong. */
void complaint_write(const struct complaint *complaint, char *out, size_t size);

#endif
