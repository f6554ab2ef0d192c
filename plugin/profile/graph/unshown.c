/* unshown.c - see unshown.h. */
#include "unshown.h"

#include "buffer.h"
#include "figures.h"
#include "profile.h"
#include "view_options.h"

double
unshown_bytes(const struct profile *profile, const struct view_options *options)
{
    return options->measure == MEASURE_INUSE_SPACE && !profile->difference &&
                   profile->bytes > 0 && !options->focus && !options->ignore
               ? profile->unseen.bytes
               : 0;
}

void
unshown_add(struct buffer *out, const struct profile *profile,
            const struct view_options *options, const char *end)
{
    double unseen = unshown_bytes(profile, options);
    double all = unseen + profile->bytes;
    char text[FIGURE_TEXT], part[FIGURE_TEXT];

    if (unseen <= 0)
        return;
    figure_text(unseen, options, false, text);
    buffer_format(out, UNSHOWN_NAME ": %s, %s of the ", text,
                  figure_percent(unseen, all, part));
    figure_text(all, options, false, text);
    buffer_format(out, "%s that are in use: %s%s", text, profile->unseen.why,
                  end);
}
