/* complaint.h - what was not as it should be with an object, in one line.
 * That its index is refused says who sent it. */
#ifndef HW_COMPLAINT_H
#define HW_COMPLAINT_H

#include <stdbool.h>
#include <stddef.h>

struct complaint {
    const char *trouble; /* libbfd's with the file; "" */
    const size_t *why;   /* by enum dwarf_why: how many addresses */
    bool by_bfd;         /* libbfd named those that it may */
};

/* "" when all is well. */
void complaint_write(const struct complaint *complaint, char *out, size_t size);

#endif
