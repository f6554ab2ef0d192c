/* flamegraph_colors.c - see flamegraph_colors.h. */
#include "flamegraph_colors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "call_tree.h"
#include "profile.h"
#include "significance.h"

static uint32_t
hash_name(const char *name)
{
    uint32_t h = 2166136261U; /* FNV-1a: the same picture every time */

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619U;
    return h ^ h >> 15;
}

/* hue in degrees, saturation and lightness from 0 to 1. */
static void
color_text(double hue, double saturation, double lightness, char *out)
{
    double rgb[3];

    for (int i = 0; i < 3; i++) {
        double k = fmod((i == 0 ? 0 : i == 1 ? 8 : 4) + hue / 30, 12);
        double a = saturation * fmin(lightness, 1 - lightness);

        rgb[i] = lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
    }
    snprintf(out, FLAMEGRAPH_COLOR, "#%02x%02x%02x",
             (unsigned)lround(rgb[0] * 255) & 0xff,
             (unsigned)lround(rgb[1] * 255) & 0xff,
             (unsigned)lround(rgb[2] * 255) & 0xff);
}

bool
flamegraph_is_noise(const struct call_tree *tree,
                    const struct call_tree_node *node)
{
    return node->variance > 0 &&
           !significance_is(node->total, node->variance, tree->errors);
}

void
flamegraph_color(const struct profile *profile, const struct call_tree *tree,
                 uint32_t i, char out[FLAMEGRAPH_COLOR])
{
    const struct call_tree_node *node = &tree->nodes[i];
    uint32_t h = hash_name(node->name);
    double part;

    if (profile->difference) {
        if (node->total == 0 || flamegraph_is_noise(tree, node)) {
            color_text(0, 0, 0.91, out);
            return;
        }
        part = sqrt(fabs(node->total) / tree->heaviest);
        color_text(node->total > 0 ? 8 : 215, 0.85, 0.93 - 0.3 * part, out);
    } else if (i == 0 || *node->name == '(') {
        color_text(0, 0, 0.85, out);
    } else { /* greens: brendangregg's for memory */
        color_text(80 + h % 75, 0.42 + (h >> 8) % 100 / 500.0,
                   0.66 + (h >> 16) % 100 / 900.0, out);
    }
}
