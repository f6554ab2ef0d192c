/* privileges.h - the one check, and its error. */
#ifndef HW_PRIVILEGES_H
#define HW_PRIVILEGES_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* -1 with 1227 unless all of needed is among has. */
int privilege_check(uint32_t has, uint32_t needed, struct error *err);

/* "STATUS,PROFILE", or "". */
void privileges_list(uint32_t has, char *out, size_t size);

#endif
