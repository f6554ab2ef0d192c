/*
 * again_conf.h - the text of jemalloc's variable, with what it lacks in front.
 *
 * Pure.
 */
#ifndef HW_AGAIN_CONF_H
#define HW_AGAIN_CONF_H

#include <stdbool.h>
#include <stddef.h>

enum { AGAIN_CONF_MAX = 8192 };

/*
 * Into out: the pairs of wanted whose keys neither present, the variable's
 * value, nor compiled, what the program was built with, sets; then present.  Of
 * compiled, prof itself does not count.  Either may be NULL.  False where that
 * would not bring prof:true, or there is no room.
 */
bool again_conf_merge(char out[AGAIN_CONF_MAX], const char *wanted,
                      const char *present, const char *compiled);

#endif
