/* flamegraph_colors.h - what color a frame of a flame graph has. */
#ifndef HW_FLAMEGRAPH_COLORS_H
#define HW_FLAMEGRAPH_COLORS_H

#include <stdbool.h>
#include <stdint.h>

struct call_tree;
struct call_tree_node;
struct profile;

enum { FLAMEGRAPH_COLOR = sizeof("#rrggbb") };

/* Of a difference: it may well be chance (significance.h). */
bool flamegraph_is_noise(const struct call_tree *tree,
                         const struct call_tree_node *node);

/* Functions of one name have one color; of a difference the color says which
 * way, and how much of all, it changed. */
void flamegraph_color(const struct profile *profile,
                      const struct call_tree *tree, uint32_t i,
                      char out[FLAMEGRAPH_COLOR]);

#endif
