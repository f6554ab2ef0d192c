/* build_id.h - the build-id of an object, as a value and as text. */
#ifndef HW_BUILD_ID_H
#define HW_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

enum {
    BUILD_ID_MIN = 8, /* bytes; shorter ones do not identify a build */
    BUILD_ID_MAX = 64,
    BUILD_ID_TEXT = BUILD_ID_MAX * 2 + 1
};

struct build_id {
    uint8_t bytes[BUILD_ID_MAX];
    size_t size; /* 0: none, or too short */
};

struct build_id build_id_of(const struct elf_file *elf);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
void build_id_text(const struct build_id *id, char out[BUILD_ID_TEXT]);
/* Parses its lower-case text.  False: invalid. */
bool build_id_parse(const char *text, size_t size, struct build_id *out);

#endif
