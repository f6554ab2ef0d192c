/* view.c - see view.h. */
#include "view.h"

#include <string.h>

#include "calls.h"
#include "flamegraph.h"
#include "forms.h"
#include "graphviz.h"

const struct view_form view_forms[] = {
    {"dot", .takes_options = true, .render = dot_write},
    {"text", .takes_options = true, .render = text_write},
    {"top", .takes_options = true, .whole_names = true,
     .render = text_write_top},
    {"tree", .takes_options = true, .whole_names = true, .render = tree_write},
    {"collapsed", .takes_options = true, .whole_names = true,
     .render = collapsed_write},
    {"flamegraph", .binary = true, .takes_options = true, .whole_names = true,
     .text = true, .render = flamegraph_write},
    {"svg", .binary = true, .takes_options = true, .whole_names = true,
     .text = true, .by_graphviz = true, .render = graphviz_svg},
    {"pdf", .binary = true, .takes_options = true, .whole_names = true,
     .by_graphviz = true, .render = graphviz_pdf},
    {"calls", .binary = true, .takes_options = true, .whole_names = true,
     .text = true, .render = calls_write},
    {"pprof", .binary = true, .takes_options = true, .places = true,
     .whole_names = true, .render = pprof_write},
    {"raw", .render = raw_write},
    {"address_names", .whole_names = true, .render = raw_write_symbols},
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
