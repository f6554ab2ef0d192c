/* privileges.h - checks privileges (enum privilege: sql.h) and words the
 * refusal. */
#ifndef HW_PRIVILEGES_H
#define HW_PRIVILEGES_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* -1 with 1227 unless has contains all of needed. */
int privilege_check(uint32_t has, uint32_t needed, struct error *err);

/* Writes "STATUS,PROFILE"; "" for none. */
void privileges_list(uint32_t has, char *out, size_t size);

#endif
