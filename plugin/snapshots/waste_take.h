/* waste_take.h - jemalloc's figures as waste is counted from. */
#ifndef HW_WASTE_TAKE_H
#define HW_WASTE_TAKE_H

struct stats;
struct waste_heap;

/* Nothing is known (at_ms is 0) where the statistics are not jemalloc's, lack
 * its size classes. */
void waste_take(const struct stats *stats, struct waste_heap *out);

#endif
