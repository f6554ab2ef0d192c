/* merge_words.c - writes the texts of a sum.  See merge_sum.h. */
#include "merge_sum.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "mappings.h"
#include "merge.h"
#include "profile.h"
#include "texts.h"

/* The largest first. */
static int
compare_shares(const void *a, const void *b)
{
    const struct merge_share *x = a, *y = b;
    double i = fabs(x->bytes), k = fabs(y->bytes);

    if (i != k)
        return i > k ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* In a difference, a part of the whole means nothing. */
static void
write_share(const struct merge *m, double bytes, struct buffer *out)
{
    buffer_format(out, m->difference ? " %+.1f MB" : " %.1f MB",
                  bytes / (1 << 20));
    if (!m->difference && m->out->bytes > 0)
        buffer_format(out, " (%.1f%%)", 100 * bytes / m->out->bytes);
}

void
merge_write_shares(struct merge *m, struct buffer *out)
{
    size_t shown = m->share_count;
    double others = 0;

    if (shown > MERGE_SHARES_SHOWN)
        shown = MERGE_SHARES_SHOWN;
    if (m->share_count > 0)
        qsort(m->shares, m->share_count, sizeof(*m->shares), compare_shares);
    buffer_text(out, m->difference ? "Grew by node:" : "In use by node:");
    for (size_t i = 0; i < shown; i++) {
        buffer_format(out, "%s %" PRIu64, i ? "," : "", m->shares[i].node);
        write_share(m, m->shares[i].bytes, out);
    }
    if (shown == m->share_count)
        return;
    for (size_t i = shown; i < m->share_count; i++)
        others += m->shares[i].bytes;
    buffer_format(out, ", %zu others", m->share_count - shown);
    write_share(m, others, out);
}

static void
write_sentence(struct buffer *out, const char *text)
{
    if (out->size > 0)
        buffer_text(out, "; ");
    buffer_text(out, text);
}

void
merge_write_note(const struct merge *m, const char *missing, struct buffer *out)
{
    if (*missing)
        write_sentence(out, missing);
    if (m->mixed_rates)
        write_sentence(out, "the nodes sample at different rates");
    for (uint32_t i = 0; i < texts_count(m->notes); i++)
        if (*texts_get(m->notes, i))
            write_sentence(out, texts_get(m->notes, i));
}

void
merge_write_program(const struct merge *m, struct buffer *out)
{
    uint32_t count = texts_count(m->programs);

    buffer_text(out, count ? texts_get(m->programs, 0) : "nothing");
    buffer_format(out, "%s on %zu node%s", count > 1 ? " and others" : "",
                  m->share_count, m->share_count == 1 ? "" : "s");
}
