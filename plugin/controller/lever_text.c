/* lever_text.c - levers in words for people: see lever_job.h.  Pure. */
#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "lever_job.h"

/* AGENT_LEVERS only asks for the state, so it has the object's own name. */
static const char *const names[] = {[AGENT_LEVERS] = "Jemalloc",
                                    [AGENT_PURGE] = "purge()",
                                    [AGENT_DECAY] = "decay()",
                                    [AGENT_BACKGROUND] = "background_threads()",
                                    [AGENT_UNDO] = "undo()"};

const char *
lever_name(enum agent_lever lever)
{
    return names[lever];
}

static void
write_lever_bytes(struct stats_figure figure, struct buffer *out)
{
    if (figure.known)
        buffer_format(out, "%.1f MB", (double)figure.value / (1 << 20));
    else
        buffer_text(out, "an unknown number of bytes");
}

static void
write_lever_time(int64_t wall_ms, struct buffer *out)
{
    char text[CLOCK_TEXT];

    clock_text(wall_ms, text, sizeof(text));
    buffer_format(out, "%s UTC", text);
}

/* ---- risks ---- */

static void
write_purge_risk(const struct lever_counts *counts, struct buffer *out)
{
    buffer_text(out, "purge of ");
    write_lever_bytes(counts->dirty, out);
    buffer_text(out, " of dirty and ");
    write_lever_bytes(counts->muzzy, out);
    buffer_text(out,
                " of muzzy pages: they go back to the kernel at once, one "
                "arena after the other, by one madvise for each run of pages; "
                "who needs pages of that arena may wait for its lock, and "
                "memory that is used again costs page faults");
}

/* -1 ms means never, which is longer than any time. */
static bool
is_longer(int64_t ms, int64_t than_ms)
{
    return than_ms >= 0 && (ms < 0 || ms > than_ms);
}

/* One kind of pages may get a longer time and the other a shorter: then the
 * risk of the shorter is told, which acts at once, and that of -1 before it. */
static void
write_decay_risk(const struct lever_request *request, const int64_t decay[2],
                 struct buffer *out)
{
    bool never = (request->dirty_ms < 0 && (!decay || decay[0] >= 0)) ||
                 (request->muzzy_ms < 0 && (!decay || decay[1] >= 0));
    bool longer = decay && (is_longer(request->dirty_ms, decay[0]) ||
                            is_longer(request->muzzy_ms, decay[1]));
    bool shorter = decay ? is_longer(decay[0], request->dirty_ms) ||
                               is_longer(decay[1], request->muzzy_ms)
                         : !never;

    if (never)
        buffer_text(out, "decay of -1 ms: free pages are not given back at all "
                         "while it is in force, and rss grows to the highest "
                         "use of each arena");
    if (never && shorter)
        buffer_text(out, "; ");
    if (shorter)
        buffer_text(out, "decay to a shorter time: what is over it goes back "
                         "to the kernel at once, as by purge; while it is in "
                         "force the program's own threads call madvise more "
                         "often, and memory that is used again costs page "
                         "faults");
    else if (longer && !never)
        buffer_text(out, "decay to a longer time: free pages stay so much "
                         "longer, and rss is higher by as much as is freed "
                         "in that time");
    else if (!never)
        buffer_text(out, "decay to the present values: nothing changes but the "
                         "time of its end");
}

static void
write_background_risk(const struct lever_request *request, struct buffer *out)
{
    if (request->on)
        buffer_text(out, "background threads on: jemalloc starts up to one "
                         "thread for each CPU in the database; they give pages "
                         "back, also of arenas that nobody uses, and take "
                         "these arenas' locks for that");
    else
        buffer_text(out, "background threads off: their work falls to the "
                         "program's threads, and arenas that nobody uses keep "
                         "their free pages");
}

void
lever_write_risk(const struct lever_request *request,
                 const struct lever_counts *counts, const int64_t decay[2],
                 struct buffer *out)
{
    buffer_text(out, "risk: ");
    switch (request->lever) {
    case AGENT_PURGE:
        write_purge_risk(counts, out);
        break;
    case AGENT_DECAY:
        write_decay_risk(request, decay, out);
        break;
    case AGENT_BACKGROUND:
        write_background_risk(request, out);
        break;
    case AGENT_LEVERS:
    case AGENT_UNDO:
        buffer_text(out, "the former settings are in force again: pages that a "
                         "longer time kept go back to the kernel at once");
        break;
    }
    buffer_char(out, '\n');
}

/* ---- what is in force ---- */

static void
write_ms(int64_t ms, struct buffer *out)
{
    if (ms < 0)
        buffer_text(out, "-1 (never)");
    else
        buffer_format(out, "%" PRId64, ms);
}

void
lever_write_values(enum node_lever lever, const int64_t values[2],
                   struct buffer *out)
{
    if (lever == NODE_BACKGROUND) {
        buffer_text(out, values[0] ? "on" : "off");
        return;
    }
    buffer_text(out, "dirty_decay_ms ");
    write_ms(values[0], out);
    buffer_text(out, ", muzzy_decay_ms ");
    write_ms(values[1], out);
}

const char *
lever_label(enum node_lever lever)
{
    static const char *const labels[NODE_LEVERS] = {"decay",
                                                    "background_threads"};

    return labels[lever];
}

const char *
lever_error(const struct lever_in_force *force)
{
    const char *text = strerrordesc_np((int)force->error);

    return text ? text : "unknown error";
}

void
lever_write_in_force(enum node_lever lever, const struct lever_in_force *force,
                     struct buffer *out)
{
    buffer_format(out, "%s: ", lever_label(lever));
    lever_write_values(lever, force->set, out);
    buffer_text(out, " until ");
    write_lever_time(force->until_ms, out);
    buffer_format(out, ", by %s", *force->by ? force->by : "an unknown user");
}

static void
write_ends(enum node_lever lever, const struct lever_in_force *force,
           struct buffer *out)
{
    buffer_text(out, ", since ");
    write_lever_time(force->since_ms, out);
    buffer_text(out, lever == NODE_DECAY ? "; then each arena gets its former "
                                           "values again, and new arenas get "
                                         : "; then ");
    lever_write_values(lever, force->was, out);
    if (force->error != 0)
        buffer_format(out,
                      "; it is overdue, because the former settings could not "
                      "be restored (%s): this is tried again each second",
                      lever_error(force));
}

void
lever_write_state(const struct lever_in_force force[NODE_LEVERS],
                  struct buffer *out)
{
    for (int i = 0; i < NODE_LEVERS; i++) {
        if (force[i].in_force) {
            lever_write_in_force((enum node_lever)i, &force[i], out);
            write_ends((enum node_lever)i, &force[i], out);
            buffer_char(out, '\n');
            continue;
        }
        buffer_format(out, "%s: not in force", lever_label((enum node_lever)i));
        if (force[i].ended_ms != 0) {
            buffer_text(out, "; the last one ended at ");
            write_lever_time(force[i].ended_ms, out);
            buffer_text(out, force[i].by_itself ? ", because its time was over"
                                                : ", because it was undone");
        }
        buffer_char(out, '\n');
    }
}

/* ---- what was done ---- */

static void
write_change(const char *name, struct stats_figure before,
             struct stats_figure after, struct buffer *out)
{
    buffer_format(out, "%s: ", name);
    write_lever_bytes(before, out);
    buffer_text(out, " before, ");
    write_lever_bytes(after, out);
    buffer_text(out, " after\n");
}

void
lever_write_result(const struct lever_request *request,
                   const struct lever_report *report, struct buffer *out)
{
    const struct lever_counts *before = &report->before,
                              *after = &report->after;
    const struct lever_in_force *replaced = &report->replaced;

    lever_write_risk(request, before,
                     replaced->in_force ? replaced->set
                                        : report->force[NODE_DECAY].was,
                     out);
    if (replaced->in_force) {
        buffer_text(out, "replaces ");
        lever_write_in_force(request->lever == AGENT_DECAY ? NODE_DECAY
                                                           : NODE_BACKGROUND,
                             replaced, out);
        buffer_text(out,
                    "; the values from before that one will be restored\n");
    }
    write_change("rss", before->rss, after->rss, out);
    write_change("resident", before->resident, after->resident, out);
    write_change("active", before->active, after->active, out);
    write_change("dirty", before->dirty, after->dirty, out);
    write_change("muzzy", before->muzzy, after->muzzy, out);
    buffer_format(out, "took: %.1f ms\n", (double)report->took_us / 1000);
    if (request->lever != AGENT_PURGE)
        lever_write_state(report->force, out);
}
