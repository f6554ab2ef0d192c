/* flame_files.h - the script and the style of flame/, embedded by the build. */
#ifndef HW_FLAME_FILES_H
#define HW_FLAME_FILES_H

#include <stddef.h>

/* NUL-terminated. */
extern const char flame_script[];
extern const size_t flame_script_size;
extern const char flame_style[];
extern const size_t flame_style_size;

#endif
