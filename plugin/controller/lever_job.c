/*
 * lever_job.c - asks the agent for its levers; see lever_job.h.
 *
 * A change of jemalloc must end even if heapwired dies, so the agent keeps the
 * deadline, the old values and the user's name, and heapwired only asks and
 * remembers.  What is in force is read again when it may have changed: after a
 * new connection, and when a lever's time is over.  The answer is lines of
 * "name value" in a memfd, which a newer agent may extend: unknown names are
 * skipped, malformed lines refuse the whole.
 */
#include "lever_job.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent_client.h"
#include "buffer.h"
#include "clean_text.h"
#include "clock.h"
#include "ascii.h"
#include "errors.h"
#include "files.h"
#include "log.h"
#include "reader.h"

enum {
    TEXT_MAX = 16384,
    OVERDUE_MS = 1000 /* later than this, the agent has failed to end it */
};

/* ---- the agent's text ---- */

#define FIGURE(name)                                                           \
    {                                                                          \
#name, offsetof(struct lever_counts, name)                             \
    }
#define FORCE(name)                                                            \
    {                                                                          \
#name, offsetof(struct lever_in_force, name)                           \
    }

struct field {
    const char *name;
    size_t offset;
};

static const struct field figures[] = {
    FIGURE(rss),   FIGURE(resident), FIGURE(active),           FIGURE(dirty),
    FIGURE(muzzy), FIGURE(tcache),   FIGURE(background_thread)};

static const struct field times[] = {
    FORCE(since_ms),
    FORCE(until_ms),
    FORCE(ended_ms),
    FORCE(error),
    {"set0", offsetof(struct lever_in_force, set)},
    {"set1", offsetof(struct lever_in_force, set) + sizeof(int64_t)},
    {"was0", offsetof(struct lever_in_force, was)},
    {"was1", offsetof(struct lever_in_force, was) + sizeof(int64_t)},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 18 digits cannot overflow an int64_t. */
static bool
parse_signed(struct span text, int64_t *out)
{
    enum { DIGITS_MAX = 18 };
    bool negative = text.size > 0 && text.data[0] == '-';
    int64_t value = 0;

    if (text.size <= negative || text.size > DIGITS_MAX + (size_t)negative)
        return false;
    for (size_t i = negative; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool
put_lever_figure(struct lever_counts *counts, struct span name,
                 struct span value)
{
    int64_t number;

    for (size_t i = 0; i < COUNT(figures); i++) {
        struct stats_figure *figure =
            (void *)((char *)counts + figures[i].offset);

        if (!span_is(name, figures[i].name))
            continue;
        if (!parse_signed(value, &number) || number < 0)
            return false;
        *figure = (struct stats_figure){true, (uint64_t)number};
    }
    return true;
}

static bool
put_force(struct lever_in_force *force, struct span name, struct span value)
{
    int64_t number = 0;

    if (span_is(name, "by")) {
        if (value.size >= sizeof(force->by))
            value.size = sizeof(force->by) - 1;
        clean_text(value, force->by);
        return true;
    }
    if (!parse_signed(value, &number))
        return false;
    if (span_is(name, "in_force"))
        force->in_force = number != 0;
    if (span_is(name, "by_itself"))
        force->by_itself = number != 0;
    if (span_is(name, "told"))
        force->end_reported = number != 0;
    for (size_t i = 0; i < COUNT(times); i++)
        if (span_is(name, times[i].name))
            memcpy((char *)force + times[i].offset, &number, sizeof(number));
    return true;
}

/* Unknown names are skipped: they are a newer agent's. */
static bool
put_line(struct lever_report *report, struct span name, struct span value)
{
    const char *dot = memchr(name.data, '.', name.size);
    struct span of = {name.data, dot ? (size_t)(dot - name.data) : 0};
    struct span field = name;

    if (!dot)
        return !span_is(name, "took_us") ||
               parse_signed(value, &report->took_us);
    field.data = dot + 1;
    field.size = name.size - of.size - 1;
    if (span_is(of, "before"))
        return put_lever_figure(&report->before, field, value);
    if (span_is(of, "after"))
        return put_lever_figure(&report->after, field, value);
    if (span_is(of, "decay"))
        return put_force(&report->force[NODE_DECAY], field, value);
    if (span_is(of, "background"))
        return put_force(&report->force[NODE_BACKGROUND], field, value);
    return true;
}

bool
lever_report_parse(const char *text, size_t size, struct lever_report *out)
{
    struct reader r = reader_of(text, size);
    struct span line;

    memset(out, 0, sizeof(*out));
    while (reader_line(&r, &line)) {
        const char *blank = memchr(line.data, ' ', line.size);
        struct span name = {line.data, blank ? (size_t)(blank - line.data) : 0};
        struct span value = {blank ? blank + 1 : NULL,
                             line.size - name.size - 1};

        if (!blank || !put_line(out, name, value))
            return false;
    }
    return true;
}

/* ---- the exchange ---- */

static int
check_lever(const struct agent_client *client, enum agent_lever lever,
            struct error *err)
{
    const struct agent_hello *hello = &client->status.hello;

    if (client->status.knows & AGENT_KNOWS_LEVERS)
        return 0;
    error_set(err, ER_NOT_SUPPORTED,
              "%s: the agent in %s (pid %d) is of an older heapwire and has no "
              "levers; restart the database to load the new one",
              lever_name(lever), hello->exe, hello->pid);
    return -1;
}

/* Replaces the agent's error by one that says what this jemalloc lacks. */
static void
set_missing_lever_error(const struct agent_client *client,
                        enum agent_lever lever, const struct agent_reply *reply,
                        struct error *err)
{
    static const char *const lacks[] = {
        [AGENT_PURGE] = "it does not purge all arenas at a time (5.0 and later "
                        "do)",
        [AGENT_DECAY] = "its arenas have no dirty_decay_ms and muzzy_decay_ms "
                        "(those of 5.0 and later have)",
        [AGENT_BACKGROUND] = "it has no background threads (it is older than "
                             "5.0, or was built without them)",
        [AGENT_UNDO] = "it has none"};
    const struct agent_hello *hello = &client->status.hello;

    if (reply->status == AGENT_NOT_FOUND && lever != AGENT_LEVERS)
        error_set(err, ER_NOT_SUPPORTED,
                  "%s is not possible in %s (pid %d) with jemalloc %s: %s",
                  lever_name(lever), hello->exe, hello->pid, hello->version,
                  lacks[lever]);
    else if (reply->status == AGENT_NO_JEMALLOC)
        error_set(err, ER_NOT_SUPPORTED,
                  "%s is not possible in %s (pid %d): no jemalloc serves it, "
                  "and other allocators have no such lever; heapwire-run "
                  "--profiling-source jemalloc preloads one at the next start",
                  lever_name(lever), hello->exe, hello->pid);
}

/* A request has no room for a user's name: it goes as a file beside it. */
static int
create_requester_file(const char *by)
{
    int fd = memfd_create("heapwire-by", MFD_CLOEXEC);

    if (fd >= 0 && (fd_write_all(fd, by, strlen(by)) != 0 ||
                    lseek(fd, 0, SEEK_SET) != 0)) {
        fd_close(fd);
        fd = -1;
    }
    return fd;
}

static int
ask_levers(struct agent_client *client, const struct lever_request *wanted,
           const char *by, struct lever_report *out, struct error *err)
{
    struct agent_request request = {
        .op = AGENT_LEVER, .number = wanted->lever, .seconds = wanted->seconds};
    struct agent_client_answer answer = {.reply = {.status = AGENT_OK}};
    struct buffer text;
    int fd = -1, rc = -1;

    /* a request has no fields of its own for these: the protocol lends two
     * others */
    if (wanted->lever == AGENT_DECAY) {
        request.inode = (uint64_t)wanted->dirty_ms;
        request.force = (uint64_t)wanted->muzzy_ms;
    } else if (wanted->lever == AGENT_BACKGROUND) {
        request.inode = wanted->on;
    }
    if (*by && wanted->seconds > 0)
        fd = create_requester_file(by);
    buffer_init(&text, TEXT_MAX);
    if (agent_client_call_with_fd(client, &request, fd, &answer, err) != 0) {
        if (client->status.state == NODE_CONNECTED)
            set_missing_lever_error(client, wanted->lever, &answer.reply, err);
        goto out;
    }
    rc = agent_client_read_memory(client, answer.fds[0], &text, "its levers",
                                  err);
    agent_client_answer_close(&answer);
    if (rc == 0 &&
        !lever_report_parse(text.data ? text.data : "", text.size, out)) {
        error_set(err, ER_UNKNOWN,
                  "the answer of the agent in %s (pid %d) to %s is malformed",
                  client->status.hello.exe, client->status.hello.pid,
                  lever_name(wanted->lever));
        rc = -1;
    }
out:
    buffer_fini(&text);
    fd_close(fd);
    return rc;
}

/* ---- what is known, and the log ---- */

static void
log_lever_end(const struct agent_client *client, size_t lever,
              void (*log)(const char *line), const struct lever_in_force *force)
{
    static const enum agent_lever of[NODE_LEVERS] = {AGENT_DECAY,
                                                     AGENT_BACKGROUND};
    char at[CLOCK_TEXT];

    clock_text(force->ended_ms, at, sizeof(at));
    log_to(log,
           "%s of %s ended at %s UTC in the database (pid %d), %s: the former "
           "settings are in force again",
           lever_name(of[lever]), *force->by ? force->by : "an unknown user",
           at, client->status.hello.pid,
           force->by_itself ? "because its time was over"
                            : "because it was undone");
}

static void
keep_levers(struct agent_client *client, void (*log)(const char *line),
            const struct lever_report *report)
{
    struct lever_in_force *levers = client->status.levers;

    for (size_t i = 0; i < NODE_LEVERS; i++) {
        /* An end is logged once: not if an earlier heapwired, or this one,
         * has. */
        if (report->force[i].ended_ms != 0 && !report->force[i].end_reported &&
            report->force[i].ended_ms != levers[i].ended_ms)
            log_lever_end(client, i, log, &report->force[i]);
        levers[i] = report->force[i];
    }
    client->levers_seen = true;
}

int
lever_job_run(struct agent_client *client, const struct lever_request *request,
              const char *by, void (*log)(const char *line),
              struct lever_report *out, struct error *err)
{
    struct lever_in_force decay = client->status.levers[NODE_DECAY],
                          background = client->status.levers[NODE_BACKGROUND];

    if (check_lever(client, request->lever, err) != 0)
        return -1;
    if (ask_levers(client, request, by, out, err) != 0) {
        client->levers_seen = false; /* it may be in force: ask again */
        return -1;
    }
    if (request->lever == AGENT_DECAY)
        out->replaced = decay;
    else if (request->lever == AGENT_BACKGROUND)
        out->replaced = background;
    keep_levers(client, log, out);
    return 0;
}

void
lever_job_check(struct agent_client *client, void (*log)(const char *line))
{
    const struct lever_request look = {.lever = AGENT_LEVERS};
    struct lever_report report;
    bool due = !client->levers_seen;
    struct error ignored;

    for (size_t i = 0; i < NODE_LEVERS; i++)
        due |= client->status.levers[i].in_force &&
               client->status.levers[i].until_ms <= clock_wall_ms();
    if (!due || client->status.state != NODE_CONNECTED ||
        !(client->status.knows & AGENT_KNOWS_LEVERS) ||
        !*client->status.hello.mallctl)
        return;
    if (ask_levers(client, &look, "", &report, &ignored) == 0)
        keep_levers(client, log, &report);
    else
        client->levers_seen = true; /* do not ask again at each greeting */
}

/* A lever that is overdue is not waited for: the greeter would spin until the
 * agent has put it back. */
int64_t
lever_job_next(const struct node_status *status, int64_t wall_ms)
{
    int64_t next = -1;

    for (size_t i = 0; i < NODE_LEVERS; i++) {
        const struct lever_in_force *force = &status->levers[i];
        int64_t left = force->until_ms - wall_ms;

        if (!force->in_force || left < -OVERDUE_MS)
            continue;
        left = left > 0 ? left : 0;
        if (next < 0 || left < next)
            next = left;
    }
    return next;
}
