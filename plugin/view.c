/* view.c - see view.h. */
#include "view.h"

#include <string.h>

#include "collapsed.h"
#include "dot.h"
#include "pprof.h"
#include "text.h"

const struct view_form view_forms[] = {
    {"dot", false, true, profile_dot},
    {"text", false, true, profile_text},
    {"top", false, true, profile_top},
    {"collapsed", false, true, profile_collapsed},
    {"pprof", true, true, profile_pprof},
};

const size_t view_form_count = sizeof(view_forms) / sizeof(view_forms[0]);

const struct view_form *
view_form_find(const char *name)
{
    for (size_t i = 0; i < view_form_count; i++)
        if (strcmp(view_forms[i].name, name) == 0)
            return &view_forms[i];
    return NULL;
}
