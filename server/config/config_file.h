/*
 * config_file.h - opens and vets a configuration file, and collects its faults.
 */
#ifndef HW_CONFIG_FILE_H
#define HW_CONFIG_FILE_H

#include <sys/types.h>

#include "buffer.h"
#include "errors.h"

enum {
    CONFIG_FAULTS_MAX = 50,
    CONFIG_FAULT_BYTES = 1024 /* of a path, and of what is wrong */
};

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
 * *mode gets its permission bits. */
int config_read_file(const char *path, struct buffer *out, mode_t *mode,
                     struct error *err);

#endif
