/* waste_take.h - jemalloc's figures as waste is counted from. */
#ifndef HW_WASTE_TAKE_H
#define HW_WASTE_TAKE_H

struct stats;
struct waste_heap;

/* out->at_ms is 0, and nothing is known, if the statistics are not jemalloc's
 * or lack its size classes. */
void waste_take(const struct stats *stats, struct waste_heap *out);

#endif
