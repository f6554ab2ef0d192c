/* recorder_state.c - see recorder_state.h: as it is without a segment. */
#include "recorder_state.h"

#include "block_filter.h"

static const _Atomic uint32_t dead;
static _Atomic uint8_t no_pages[BLOCK_FILTER_PAGES], no_counters;

struct recorder_state recorder_state;
__thread struct recorder_local recorder_local;
const _Atomic uint32_t *recorder_alive = &dead;
struct block_filter block_filter = {no_pages, &no_counters, 0};
