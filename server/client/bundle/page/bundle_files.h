/* bundle_files.h - the style and the script of a bundle, embedded by the build.
 * NUL-terminated. */
#ifndef HW_BUNDLE_FILES_H
#define HW_BUNDLE_FILES_H

#include <stddef.h>

extern const char bundle_style[];
extern const size_t bundle_style_size;
extern const char bundle_script[];
extern const size_t bundle_script_size;

#endif
