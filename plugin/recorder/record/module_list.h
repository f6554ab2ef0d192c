/* module_list.h - the files whose code the stacks name. */
#ifndef HW_MODULE_LIST_H
#define HW_MODULE_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* Before the first: the program's own path. */
void module_list_begin(void);

/* A frame of a return address: its module is there before this returns.  No
 * lock; a loaded library's own text and note are read. */
uint64_t module_frame(uint64_t pc);

/* Whether the modules of such frames, whose code runs, are those that lie there
 * now.  Likewise without a lock. */
bool modules_are_loaded(const uint64_t *frames, uint32_t depth);

#endif
