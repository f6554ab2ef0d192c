/*
 * malloc_conf.h - adds missing options in front of jemalloc's variable.
 */
#ifndef HW_MALLOC_CONF_H
#define HW_MALLOC_CONF_H

#include <stdbool.h>

enum { MALLOC_CONF_MAX = 8192 };

/*
 * Writes into out the pairs of wanted whose keys neither present, the
 * variable's value, nor compiled, the options that are built into the program,
 * sets; then present.  prof in compiled is ignored.  present and compiled may
 * be NULL.  False if the result lacks prof:true or does not fit.
 */
bool malloc_conf_merge(char out[MALLOC_CONF_MAX], const char *wanted,
                       const char *present, const char *compiled);

#endif
