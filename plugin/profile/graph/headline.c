/* headline.c - see headline.h. */
#include "headline.h"

#include "buffer.h"
#include "clock.h"
#include "mappings.h"
#include "figures.h"
#include "profile.h"
#include "shown_name.h"

void
headline_add(struct buffer *out, const struct profile *profile,
             const struct view_options *options, size_t max)
{
    char since[CLOCK_TEXT], text[FIGURE_TEXT];

    shown_name(mapping_basename(profile->program), max, out);
    if (profile->origin.live) {
        clock_text(profile->origin.taken_ms, since, sizeof(since));
        buffer_format(out, ", %s UTC", since);
    }
    figure_text(profile_total(profile, options->measure), options,
                profile->difference, text);
    buffer_format(out, ": %s ", text);
    if (measure_is_space(options->measure))
        buffer_text(out, figure_name(options->measure));
    else /* "3 objects" includes its unit */
        buffer_text(out, options->measure == MEASURE_INUSE_OBJECTS
                             ? "in use"
                             : "allocated");
    if (profile->difference)
        buffer_text(out, " since the base");
    else if (profile->rate > 1 && profile->samples > 0 &&
             profile->samples <= HEADLINE_FEW)
        buffer_format(out, ", estimated from %llu sample%s",
                      (unsigned long long)profile->samples,
                      profile->samples == 1 ? " alone" : "s alone");
}
