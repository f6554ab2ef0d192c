/*
 * config_file.h - opens and vets a configuration file, and collects its faults.
 */
#ifndef HW_CONFIG_FILE_H
#define HW_CONFIG_FILE_H

#include <stdbool.h>

#include "buffer.h"
#include "errors.h"

enum {
    CONFIG_FAULTS_MAX = 50,
    CONFIG_FAULT_BYTES = 1024 /* of a path, and of what is wrong */
};

#define CONFIG_PRIVATE                                                         \
    "(chmod 600; or, for a heapwired that leaves root: chown root:GROUP, "     \
    "chmod 640, with the group of the user that it becomes)"

/* Fault lines, newest last. */
struct config_faults {
    struct buffer text;
    unsigned count;
};

void config_faults_init(struct config_faults *faults);
void config_faults_fini(struct config_faults *faults);
/* line 0: the file called name as a whole. */
void config_fault(struct config_faults *faults, const char *name, unsigned line,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* where: "file:12", "--listen", or "" */
void config_add_fault(struct config_faults *faults, const char *where,
                      const char *what);

/* Opens and vets the file: regular, ours or root's, closed to others' writing.
 * *readable: others may read it; but for the group that root gives its file,
 * so that heapwired can read it after it left root. */
int config_read_file(const char *path, struct buffer *out, bool *readable,
                     struct error *err);

#endif
