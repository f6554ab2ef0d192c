/* program_mapping.h - where in a process a given executable file lies. */
#ifndef HW_PROGRAM_MAPPING_H
#define HW_PROGRAM_MAPPING_H

struct elf_file;
struct mapping;
struct mappings;

/*
 * The code mapping that has the place and size one of elf's segments asks for,
 * or NULL.  Where several fit, that with the path, else the file name, else the
 * lowest address.
 */
const struct mapping *program_mapping(const struct mappings *maps,
                                      const struct elf_file *elf,
                                      const char *path);

#endif
