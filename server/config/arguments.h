/* arguments.h - heapwired's command line. */
#ifndef HW_ARGUMENTS_H
#define HW_ARGUMENTS_H

#include <stdbool.h>

#include "config.h"

struct arguments {
    struct config_arguments config;
    char **argv; /* as it came */
    bool check, help, version;
    bool wait;
};

/* -1: wrong, and the reason is on stderr.  The strings borrow argv. */
int arguments_parse(struct arguments *out, int argc, char **argv);
void arguments_help(void);

#endif
