/* fuzz_target.h - what libFuzzer, or replay.c, calls. */
#ifndef HW_FUZZ_TARGET_H
#define HW_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
