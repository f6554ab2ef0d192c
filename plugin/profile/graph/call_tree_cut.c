/* call_tree_cut.c - see call_tree_cut.h. */
#include "call_tree_cut.h"

#include "call_tree.h"

enum { HALVINGS = 12 };

static const double first_step = 1e-7; /* of the whole, where least is 0 */

bool
call_tree_cut_keeps(const struct call_tree_cut *cut,
                    const struct call_tree *tree, uint32_t i)
{
    const struct call_tree_node *node = &tree->nodes[i];

    return node->changed > 0 && node->depth <= CALL_TREE_DEPTH_MAX &&
           (node->changed >= cut->least ||
            (node->changed >= cut->lighter && i < cut->end));
}

static void
count(const struct call_tree *tree, struct call_tree_cut *cut)
{
    cut->kept = cut->deepest = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (!call_tree_cut_keeps(cut, tree, i))
            continue;
        cut->kept++;
        if (tree->nodes[i].depth > cut->deepest)
            cut->deepest = tree->nodes[i].depth;
    }
}

/* Of many equal ones some have room. */
static void
fill(const struct call_tree *tree, struct call_tree_cut *cut,
     uint32_t frames_max)
{
    uint32_t room = frames_max - cut->kept;

    for (uint32_t i = 0; i < tree->count && room > 0; i++) {
        bool kept = call_tree_cut_keeps(cut, tree, i);

        cut->end = i + 1;
        room -= !kept && call_tree_cut_keeps(cut, tree, i);
    }
    count(tree, cut);
}

struct call_tree_cut
call_tree_cut_at(const struct call_tree *tree, double least,
                 uint32_t frames_max)
{
    struct call_tree_cut cut = {.least = least};
    double too_small = least, small_enough;

    for (count(tree, &cut); cut.kept > frames_max; count(tree, &cut)) {
        too_small = cut.least;
        cut.least =
            too_small > 0 ? too_small * 2 : tree->nodes[0].changed * first_step;
    }
    small_enough = cut.least;
    for (int i = 0; i < HALVINGS && small_enough > too_small; i++) {
        cut.least = (too_small + small_enough) / 2;
        count(tree, &cut);
        *(cut.kept > frames_max ? &too_small : &small_enough) = cut.least;
    }
    cut.least = small_enough;
    cut.lighter = too_small;
    count(tree, &cut);
    fill(tree, &cut, frames_max);
    return cut;
}
