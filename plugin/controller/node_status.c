/*
 * node_status.c - why a node cannot do what is asked; see node_status.h.
 *
 * A refusal is the first thing that many users see, so it has to say what to
 * do, and that depends on how the database was started (attached, unprepared,
 * with raised privileges), on its jemalloc, and on what the state directory
 * knows of its end.  All of that is decided here, in one order: is there a
 * node, can its jemalloc do the job, are the numbers allowed.  Most
 * functions read the status alone; see node_status.h for the others.
 */
#include "node_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"
#include "clock.h"
#include "deaths.h"
#include "errors.h"
#include "locate.h"
#include "process_stat.h"

enum {
    DEATHS_CHECKED = 4, /* the newest records */
    ENDING_MS = 5000,   /* the parent writes its record of the end by then */
    ABSENCE_MS = 20000  /* a death's record explains a restart for so long */
};

static void
refuse_absent(const struct node_status *status, const char *since,
              struct error *err)
{
    if (*status->note)
        error_set(err, ER_UNKNOWN, "no database is served: %s", status->note);
    else
        error_set(err, ER_UNKNOWN,
                  "no database with the heapwire agent is connected (waiting "
                  "since %s UTC); %s",
                  since,
                  *status->absence_why
                      ? status->absence_why
                      : "start it under heapwire-run, with --exe "
                        "where COMMAND is not the database itself");
}

int
node_status_check(const struct node_status *status, struct error *err)
{
    char since[CLOCK_TEXT];

    clock_text(status->since_ms, since, sizeof(since));
    switch (status->state) {
    case NODE_CONNECTED:
        return 0;
    case NODE_ABSENT:
        refuse_absent(status, since, err);
        return -1;
    case NODE_UNRESPONSIVE:
        if (status->hello.pid == 0) { /* it hung before heapwired started */
            error_set(err, ER_UNKNOWN,
                      "a database is connected, but has not identified itself "
                      "since %s UTC: it hangs, or a signal has stopped it",
                      since);
            return -1;
        }
        error_set(err, ER_UNKNOWN,
                  "the database (pid %d) is not responding since %s UTC%s",
                  status->hello.pid, since,
                  status->stopped ? ": the process is stopped by a signal"
                                  : "");
        return -1;
    case NODE_GONE:
        break;
    }
    if (status->unserved.pid != 0 &&
        *status->absence_why) { /* the process that forked it has ended */
        refuse_absent(status, since, err);
        return -1;
    }
    error_set(err, ER_UNKNOWN,
              "the database (pid %d) ended at %s UTC%s%s%s; the next one that "
              "starts with this state directory is served; heapwire.snapshots "
              "lists the snapshots that are kept",
              status->hello.pid, since, *status->ending ? ": it " : "",
              status->ending,
              *status->ending ? " (heapwire.deaths has more)" : "");
    return -1;
}

/* True, with *err, if profiling was not prepared at the start. */
static bool
refuse_unprepared(const struct node_status *status, struct error *err)
{
    const struct agent_hello *hello = &status->hello;

    if (status->restarted)
        error_set(err, ER_FEATURE_DISABLED,
                  "heap profiling is not prepared in %s (pid %d): with "
                  "prof:true, or with the jemalloc or the recorder that "
                  "heapwire-run preloads, it did not reach its main, so it was "
                  "started again without "
                  "(heapwire.deaths has more)",
                  hello->exe, hello->pid);
    else if (status->unprepared)
        error_set(
            err, ER_FEATURE_DISABLED,
            "heap profiling is not prepared in %s (pid %d), because the "
            "configuration has profiling = off; set profiling = prepared "
            "(heapwire-run --profiling prepared) and restart the database",
            hello->exe, hello->pid);
    return status->restarted || status->unprepared;
}

/* The remedy depends on the file that has the jemalloc, and on its prefix. */
static void
refuse_unbuilt(const struct node_status *status, struct error *err)
{
    const struct agent_hello *hello = &status->hello;
    const char *exe = base_name(hello->exe), *end, *object = "its jemalloc";
    char prefix[AGENT_NAME_MAX];
    bool in_library = true;

    snprintf(prefix, sizeof(prefix), "%s", hello->mallctl);
    end = strstr(prefix, "mallctl");
    prefix[end ? end - prefix : 0] = '\0';
    if (status->knows & AGENT_KNOWS_OBJECT) {
        object = status->note;
        in_library = strcmp(object, exe) != 0;
    }
    error_set(err, ER_FEATURE_DISABLED,
              "jemalloc %s%s%s in %s (pid %d) was built without --enable-prof: "
              "it cannot profile; %s",
              hello->version, in_library ? " of " : "",
              in_library ? object : "", hello->exe, hello->pid,
              locate_advice(prefix, in_library));
}

int
node_status_check_job(const struct node_status *status, enum job_kind kind,
                      struct error *err)
{
    const struct agent_hello *hello = &status->hello;

    if (kind == JOB_STATS || kind == JOB_MAPPINGS)
        return 0; /* at least the kernel's */
    if (kind == JOB_LEVER || kind == JOB_RANGES)
        return 0; /* profiling or not: the agent says what it lacks */
    if (hello->opt_prof == AGENT_PROF_FORKED) {
        error_set(err, ER_FEATURE_DISABLED,
                  "%s (pid %d) was forked from the process that the recorder "
                  "is in, which samples no child: start the database in the "
                  "foreground, or with profiling_source = jemalloc",
                  hello->exe, hello->pid);
        return -1;
    }
    switch ((enum agent_status)hello->allocator) {
    case AGENT_OK:
        return 0;
    case AGENT_PROF_OFF:
        if (kind == JOB_GET_ACTIVE)
            return 0; /* "false" is the plain truth */
        /* the remedy depends on how the database was started */
        if (!status->attached && refuse_unprepared(status, err))
            return -1;
        if (status->attached)
            error_set(err, ER_FEATURE_DISABLED,
                      "attached: heap profiling cannot be switched on in %s "
                      "(pid %d), because jemalloc %s was started with opt.prof "
                      "off, which stays so until it ends (statistics, history, "
                      "marks and evidence work); restart it with "
                      "%s=prof:true,prof_active:false, or under heapwire-run",
                      hello->exe, hello->pid, hello->version,
                      hello->malloc_conf_name);
        else if (hello->secure)
            error_set(err, ER_FEATURE_DISABLED,
                      "heap profiling is off in %s (pid %d): it runs with "
                      "raised privileges, so jemalloc %s ignores %s; compile "
                      "in malloc_conf or /etc/malloc.conf prof:true,"
                      "prof_active:false",
                      hello->exe, hello->pid, hello->version,
                      hello->malloc_conf_name);
        else if (*status->note)
            error_set(err, ER_FEATURE_DISABLED,
                      "heap profiling cannot be switched on in %s (pid %d): "
                      "jemalloc %s was started with opt.prof off; restart it "
                      "with %s=prof:true,prof_active:false in its environment; "
                      "%s",
                      hello->exe, hello->pid, hello->version,
                      hello->malloc_conf_name, status->note);
        else
            error_set(err, ER_FEATURE_DISABLED,
                      "heap profiling cannot be switched on in %s (pid %d): "
                      "jemalloc %s was started with opt.prof off; restart it "
                      "with %s=prof:true,prof_active:false in its environment "
                      "(heapwire-run puts that first; a prof:false of your own "
                      "%s behind it wins)",
                      hello->exe, hello->pid, hello->version,
                      hello->malloc_conf_name, hello->malloc_conf_name);
        return -1;
    case AGENT_NO_PROF:
        refuse_unbuilt(status, err);
        return -1;
    case AGENT_UNUSABLE:
        error_set(err, ER_FEATURE_DISABLED,
                  "heap profiling is not possible in %s (pid %d): %s",
                  hello->exe, hello->pid, status->note);
        return -1;
    default:
        if (!refuse_unprepared(status, err))
            error_set(err, ER_FEATURE_DISABLED,
                      "%s (pid %d) does not allocate through jemalloc: heap "
                      "profiling needs it; start the database with libjemalloc "
                      "preloaded (heapwire-run --jemalloc auto)",
                      hello->exe, hello->pid);
        return -1;
    }
}

bool
node_status_is_recorded(const struct node_status *status)
{
    return status->state != NODE_ABSENT &&
           status->hello.opt_prof == AGENT_PROF_RECORDED;
}

/* Checks the numbers of a request before they go to the agent. */
static int
check_numbers(const struct node_status *status,
              const struct job_request *request, struct error *err)
{
    /* jemalloc puts each sampled object on pages of its own; the recorder does
     * not */
    const char *pages = node_status_is_recorded(status)
                            ? ""
                            : " and makes each sampled object a page or more";
    uint32_t lg = request->lg_sample;

    if (request->kind == JOB_ENABLE && request->seconds > AGENT_SECONDS_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "profiling can be switched on for at most %d seconds, not "
                  "%u; without a number it stays on",
                  AGENT_SECONDS_MAX, request->seconds);
        return -1;
    }
    if (request->kind != JOB_RESET || lg == 0)
        return 0;
    if (lg > AGENT_LG_SAMPLE_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "lg_sample %u is a sample every 2^%u bytes: at most %d is "
                  "allowed (19, 512 KB, is what jemalloc starts with)",
                  lg, lg, AGENT_LG_SAMPLE_MAX);
        return -1;
    }
    if (lg < AGENT_LG_SAMPLE_MIN && !request->force) {
        error_set(err, ER_WRONG_VALUE,
                  "lg_sample %u is a sample every %u bytes: less than %d slows "
                  "the database down%s; reset(%u, true) does it nevertheless",
                  lg, 1U << lg, AGENT_LG_SAMPLE_MIN, pages, lg);
        return -1;
    }
    return 0;
}

static bool
job_is_profile(enum job_kind kind)
{
    return kind == JOB_PROFILE || kind == JOB_SNAPSHOT || kind == JOB_RECENT;
}

/* Whether this kind of job can be served in this state: of a process that does
 * not answer, or has ended, some figures are known. */
static bool
can_serve(const struct node_status *status, enum job_kind kind,
          struct error *err)
{
    if (kind == JOB_RECORDED || kind == JOB_MAPPINGS ||
        (kind == JOB_STATS &&
         (status->state == NODE_UNRESPONSIVE || status->state == NODE_GONE)))
        return true;
    if (job_is_profile(kind) && node_status_is_recorded(status))
        return true; /* also when it hangs or has ended */
    if (kind == JOB_ENABLE && status->state == NODE_CONNECTED &&
        status->hello.allocator == AGENT_NO_JEMALLOC)
        return true; /* it may have one by now: the job checks again */
    return node_status_check(status, err) == 0 &&
           node_status_check_job(status, kind, err) == 0;
}

int
node_status_check_request(const struct node_status *status,
                          const struct job_request *request, struct error *err)
{
    return check_numbers(status, request, err) == 0 &&
                   can_serve(status, request->kind, err)
               ? 0
               : -1;
}

/* ---- what the records of the state directory say ---- */

/* The parent writes the record a little after the end, or never: it is looked
 * for during ENDING_MS, at each greeting. */
static void
read_death_of_gone(const char *state_dir, struct node_status *status)
{
    struct death last[DEATHS_CHECKED];
    size_t count;

    if (*status->ending || clock_wall_ms() - status->since_ms > ENDING_MS)
        return;
    count = deaths_read(state_dir, last, DEATHS_CHECKED);
    for (size_t i = 0; i < count; i++)
        if (last[i].pid == status->hello.pid && !last[i].unknown &&
            last[i].at_ms >= status->hello.started_ms)
            death_describe(&last[i], status->ending, sizeof(status->ending));
}

/* heapwire-run starts a database that died before it served again, without
 * heapwire: the record of that tells why no agent comes. */
static void
read_restart_record(const char *state_dir, struct node_status *status)
{
    struct death last;

    if (*status->note || clock_wall_ms() - status->since_ms > ABSENCE_MS ||
        deaths_read(state_dir, &last, 1) != 1 ||
        last.restarted != DEATH_WITHOUT_HEAPWIRE)
        return;
    snprintf(
        status->note, sizeof(status->note),
        "%s was started again without heapwire in it, because with it, it was "
        "killed by signal %d before it served (heapwire.deaths has more)",
        last.program, (int)last.code);
}

void
node_status_check_deaths(const char *state_dir, struct node_status *status)
{
    if (status->state == NODE_GONE)
        read_death_of_gone(state_dir, status);
    else if (status->state == NODE_ABSENT)
        read_restart_record(state_dir, status);
}

/* Sets the error for a database without an agent that has ended: how, where the
 * record says. */
static void
set_database_ended_error(const char *state_dir, int32_t pid, struct error *err)
{
    struct death last[DEATHS_CHECKED];
    size_t count = deaths_read(state_dir, last, DEATHS_CHECKED);
    char at[CLOCK_TEXT], how[sizeof(((struct node_status *)NULL)->ending)];

    while (count > 0 && last[count - 1].pid != pid)
        count--;
    if (count == 0) { /* its parent has not written it yet */
        error_set(err, ER_UNKNOWN, "the database (pid %d) has ended", pid);
        return;
    }
    clock_text(last[count - 1].at_ms, at, sizeof(at));
    death_describe(&last[count - 1], how, sizeof(how));
    error_set(err, ER_UNKNOWN,
              "the database (pid %d) ended at %s UTC: it %s (heapwire.deaths "
              "has more)",
              pid, at, how);
}

/* First the agent's peer, then a process that was reported without an agent. */
struct node_arrival
node_status_find_process(const struct node_status *status,
                         const char *state_dir, struct error *err)
{
    struct node_arrival peer = {status->peer, status->hello.start_ticks};

    if (status->state != NODE_CONNECTED && status->state != NODE_UNRESPONSIVE)
        peer.pid = 0;
    if (peer.pid != 0 && process_is_alive(peer.pid, peer.start_ticks))
        return peer;
    if (status->unserved.pid != 0 &&
        process_is_alive(status->unserved.pid, status->unserved.start_ticks))
        return status->unserved;
    if (status->state == NODE_ABSENT && status->unserved.pid != 0 &&
        !*status->absence_why)
        set_database_ended_error(state_dir, status->unserved.pid, err);
    else if (node_status_check(status, err) == 0)
        error_set(err, ER_UNKNOWN,
                  "the database's process (pid %" PRId32 ") is not visible to "
                  "heapwired: it needs the same pid namespace",
                  status->hello.pid);
    return (struct node_arrival){0};
}

/* The record is of the process before this one, so it is older than its
 * start. */
bool
node_status_restarted(const char *state_dir, const struct agent_hello *hello)
{
    struct death last;

    return deaths_read(state_dir, &last, 1) == 1 &&
           last.restarted == DEATH_WITHOUT_OPTIONS &&
           last.at_ms <= hello->started_ms;
}
