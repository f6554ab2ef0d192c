/*
 * jemalloc_known.h - parses AGENT_ENV_JEMALLOC, heapwire-run's findings in
 * files.
 *
 * Pure.
 */
#ifndef HW_JEMALLOC_KNOWN_H
#define HW_JEMALLOC_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_protocol.h"

enum { KNOWN_MAX = 16, KNOWN_MARK_MAX = 64, KNOWN_CODE_BYTES = 32 };

struct known {
    uint8_t mark[KNOWN_MARK_MAX]; /* build-id, or the function's first bytes */
    size_t mark_size;
    bool is_code;
    uint64_t address; /* in the file; 0: not found */
    char prefix[AGENT_NAME_MAX - sizeof("mallctl")];
    char variable[AGENT_NAME_MAX];
    char how[16];
};

/* Returns the number of entries; skips malformed ones. */
size_t known_parse(const char *text, struct known out[KNOWN_MAX]);

#endif
