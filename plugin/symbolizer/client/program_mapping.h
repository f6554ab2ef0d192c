/* program_mapping.h - finds the mapping of an executable file. */
#ifndef HW_PROGRAM_MAPPING_H
#define HW_PROGRAM_MAPPING_H

struct elf_file;
struct mapping;
struct mappings;

/*
 * The code mapping that fits one of elf's segments by place and size, or NULL.
 * Of several, prefers the one with the path, then the file name, then the
 * lowest address.
 */
const struct mapping *program_mapping(const struct mappings *maps,
                                      const struct elf_file *elf,
                                      const char *path);

#endif
