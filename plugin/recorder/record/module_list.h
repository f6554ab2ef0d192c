/* module_list.h - the files whose code the stacks name. */
#ifndef HW_MODULE_LIST_H
#define HW_MODULE_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* To be called before the first module_frame(): remembers the program's path
 * and what it began with. */
void module_list_begin(void);

/* Makes a frame of a return address; its module is published before this
 * returns.  Takes no lock; reads the loaded library's headers and build-id
 * note. */
uint64_t module_frame(uint64_t pc);

/* Whether the modules of such frames are still those loaded at their addresses.
 * Takes no lock. */
bool modules_are_loaded(const uint64_t *frames, uint32_t depth);

#endif
