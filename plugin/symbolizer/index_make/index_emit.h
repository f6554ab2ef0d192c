/*
 * index_emit.h - turns the collected facts into the sections of an index file.
 */
#ifndef HW_INDEX_EMIT_H
#define HW_INDEX_EMIT_H

#include <stdbool.h>

#include "index_encoder.h"

struct index_collected;

/* Intervals are sorted; false: no room. */
bool index_emit(struct index_collected *all,
                struct index_encoder encoders[INDEX_SECTIONS]);

#endif
