/* view.c - see view.h. */
#include "view.h"

#include <string.h>

#include "collapsed.h"
#include "dot.h"
#include "flamegraph.h"
#include "graphviz.h"
#include "pprof.h"
#include "raw.h"
#include "text.h"
#include "tree.h"

const struct view_form view_forms[] = {
    {"dot", false, true, false, false, false, dot_write},
    {"text", false, true, false, false, false, text_write},
    {"top", false, true, false, true, false, text_write_top},
    {"tree", false, true, false, true, false, tree_write},
    {"collapsed", false, true, false, true, false, collapsed_write},
    {"flamegraph", true, true, false, true, true, flamegraph_write},
    {"svg", true, true, false, true, true, graphviz_svg},
    {"pprof", true, true, true, true, false, pprof_write},
    {"raw", false, false, false, false, false, raw_write},
};

const size_t view_form_count = sizeof(view_forms) / sizeof(view_forms[0]);

/* Patterns are matched with places, too. */
bool
view_needs_places(const struct view_form *form,
                  const struct view_options *options)
{
    return form->places || options->granularity != GRANULARITY_FUNCTIONS ||
           options->focus || options->ignore;
}

bool
view_takes_short_names(const struct view_form *form,
                       const struct view_options *options)
{
    return !form->whole_names && !view_needs_places(form, options);
}

const struct view_form *
view_form_find(const char *name)
{
    for (size_t i = 0; i < view_form_count; i++)
        if (strcmp(view_forms[i].name, name) == 0)
            return &view_forms[i];
    return NULL;
}
