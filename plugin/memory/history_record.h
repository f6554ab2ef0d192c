/*
 * history_record.h - a sample of the history as HISTORY_RECORD bytes.
 *
 * Pure.
 */
#ifndef HW_HISTORY_RECORD_H
#define HW_HISTORY_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "history.h"

/* false: no memory. */
bool history_record_head(uint8_t record[HISTORY_RECORD], uint32_t version,
                         uint32_t samples);
bool history_record_encode(const struct history_sample *sample, uint64_t number,
                           uint8_t record[HISTORY_RECORD]);
/* Its number, or 0: not a sample, or torn. */
uint64_t history_record_decode(const uint8_t *record,
                               struct history_sample *out);

#endif
