/*
 * loaded_objects.c - checks of addresses against what the loader has mapped;
 * nothing outside of a segment is read.
 */
#include "loaded_objects.h"

#include <elf.h>
#include <string.h>

bool
object_holds(const struct loaded_object *object, uintptr_t address, size_t size,
             unsigned flags)
{
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *h = &object->headers[i];
        uintptr_t start = object->base + h->p_vaddr;

        if (h->p_type == PT_LOAD && (h->p_flags & flags) == flags &&
            address >= start && size <= h->p_memsz &&
            address - start <= h->p_memsz - size)
            return true;
    }
    return false;
}

static size_t
padded_note_size(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static size_t
find_build_id_in_notes(const uint8_t *notes, size_t size,
                       uint8_t out[BUILD_ID_MAX])
{
    ElfW(Nhdr) note;

    while (size >= sizeof(note)) {
        size_t name, data;

        memcpy(&note, notes, sizeof(note));
        name = padded_note_size(note.n_namesz);
        data = padded_note_size(note.n_descsz);
        notes += sizeof(note);
        size -= sizeof(note);
        if (name > size || data > size - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= BUILD_ID_MAX) {
            memcpy(out, notes + name, note.n_descsz);
            return note.n_descsz;
        }
        notes += name + data;
        size -= name + data;
    }
    return 0;
}

size_t
object_build_id(const struct loaded_object *object, uint8_t out[BUILD_ID_MAX])
{
    for (size_t i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *h = &object->headers[i];
        uintptr_t at = object->base + h->p_vaddr;
        size_t found;

        if (h->p_type != PT_NOTE || !object_holds(object, at, h->p_memsz, PF_R))
            continue;
        found = find_build_id_in_notes((const uint8_t *)at, h->p_memsz, out);
        if (found > 0)
            return found;
    }
    return 0;
}
