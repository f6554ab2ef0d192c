/*
 * loaded_objects.h - the objects in this process, and what is mapped of them.
 *
 * Borrows from the loader: an object must not be unloaded meanwhile.
 */
#ifndef HW_LOADED_OBJECTS_H
#define HW_LOADED_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_MAX = 64 };

struct loaded_object {
    uintptr_t base;
    const ElfW(Phdr) * headers;
    size_t header_count;
    const char *path; /* "" for the program */
};

/* Whether all bytes from address on lie in one loaded segment with these
 * flags (PF_R, PF_X). */
bool object_holds(const struct loaded_object *object, uintptr_t address,
                  size_t size, unsigned flags);

/* Copies the object's build-id to out.  Returns its size; 0: none. */
size_t object_build_id(const struct loaded_object *object,
                       uint8_t out[BUILD_ID_MAX]);

#endif
