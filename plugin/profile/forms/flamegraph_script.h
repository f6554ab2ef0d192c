/* flamegraph_script.h - flamegraph.js, embedded by the build. */
#ifndef HW_FLAMEGRAPH_SCRIPT_H
#define HW_FLAMEGRAPH_SCRIPT_H

#include <stddef.h>

extern const char flamegraph_script[]; /* NUL-terminated */
extern const size_t flamegraph_script_size;

#endif
