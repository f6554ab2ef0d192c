/*
 * budget_watch.c - when budgets are checked; see budget_watch.h.
 *
 * A budget is only useful if it is checked without anybody asking, but a
 * profile costs the database a dump.  So profiles that others take anyway are
 * used first; one is asked for only when none is fresh, and the cost of the
 * last two decides when the next may be: the lesser of two, since a first dump
 * after a restart also has to read symbols.  Called by the sampler's thread.
 */
#include "budget_watch.h"

#include "budgets.h"
#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "flight.h"
#include "log.h"
#include "marks.h"
#include "memory.h"
#include "store.h"

int
budget_watch_open(struct budget_watch *watch, struct controller *controller,
                  const char *state_dir, struct waker waker,
                  void (*log)(const char *line))
{
    watch->budgets = budgets_open(state_dir, log);
    watch->controller = controller;
    watch->waker = waker;
    watch->log = log;
    return watch->budgets ? 0 : -1;
}

void
budget_watch_close(struct budget_watch *watch)
{
    flight_leave(watch->profile);
    budgets_close(watch->budgets);
}

/* Logs only the first failure of a row. */
static void
fail_budget_check(struct budget_watch *watch, const struct error *why)
{
    budgets_miss(watch->budgets, BUDGET_FAILED);
    if (!watch->failed)
        log_to(watch->log, "cannot look at the budgets: %s", why->text);
    watch->failed = true;
}

static void
see_snapshot(struct budget_watch *watch, const struct snapshot *snapshot,
             bool named)
{
    struct error err;

    watch->checked_ms = snapshot->taken_ms;
    if (budgets_see(watch->budgets, snapshot, named, &err) != 0)
        fail_budget_check(watch, &err);
    else
        watch->failed = false;
}

static bool
is_watched_process(const struct budget_watch *watch,
                   const struct agent_hello *hello)
{
    return hello->pid == watch->pid && hello->start_ticks == watch->start_ticks;
}

void
budget_watch_see(struct budget_watch *watch, const struct snapshot *snapshot)
{
    if (!is_watched_process(watch, &snapshot->hello))
        return;
    watch->seen = snapshot->serial;
    see_snapshot(watch, snapshot, true);
}

/* The newest kept snapshot of this process's heap that is newer than the last
 * check, and not older than the interval. */
static struct snapshot *
newest_kept(struct budget_watch *watch)
{
    struct store *store = controller_store(watch->controller);
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = list ? store_list(store, list, STORE_COUNT_MAX) : 0;
    int64_t since_ms = clock_wall_ms() - (int64_t)watch->every_ms;
    struct snapshot *found = NULL;

    if (since_ms < watch->checked_ms)
        since_ms = watch->checked_ms;
    for (size_t i = count; i-- > 0 && !found;)
        if (list[i].kind == PROFILE_HEAP &&
            list[i].cause != SNAPSHOT_IMPORTED &&
            list[i].serial != watch->seen && list[i].taken_ms > since_ms &&
            is_watched_process(watch, &list[i].hello))
            found = store_get(store, list[i].name, NULL);
    mem_free(list);
    return found;
}

/* False: budgets cannot be checked now, and their state says why. */
static bool
check_budgets_ready(struct budget_watch *watch,
                    const struct node_status *status)
{
    if (status->state != NODE_CONNECTED &&
        (status->state != NODE_UNRESPONSIVE ||
         status->hello.opt_prof != AGENT_PROF_RECORDED))
        budgets_miss(watch->budgets, BUDGET_ABSENT);
    else if (!status->hello.active)
        budgets_miss(watch->budgets, BUDGET_OFF);
    else
        return true;
    watch->due_ms = 0; /* check at once when it is ready again */
    return false;
}

static void
begin_budget_check(struct budget_watch *watch, bool changed, uint64_t now_ms)
{
    struct job_request request = {.kind = JOB_RECENT};
    struct snapshot *kept = changed ? NULL : newest_kept(watch);
    struct error err;

    watch->due_ms = now_ms + watch->every_ms;
    if (kept) {
        budget_watch_see(watch, kept);
        snapshot_unref(kept);
        return;
    }
    watch->asked_ms = now_ms;
    watch->profile =
        controller_submit(watch->controller, &request, watch->waker, &err);
    if (!watch->profile)
        fail_budget_check(watch, &err);
}

bool
budget_watch_check(struct budget_watch *watch, const struct node_status *status,
                   const struct marks_now *now, const struct marks_rules *rules,
                   char reason[SNAPSHOT_REASON_MAX + 1])
{
    uint64_t now_ms = clock_ms(), changes = budgets_changes(watch->budgets);
    /* a new budget is checked at once, whatever was checked just before */
    bool changed = changes != watch->changes;
    struct budget any;

    watch->pid = status->hello.pid;
    watch->start_ticks = status->hello.start_ticks;
    watch->every_ms = rules->budgets_ms;
    if (budgets_list(watch->budgets, &any, 1) == 0 ||
        !check_budgets_ready(watch, status) || marks_too_full(now))
        return false;
    if (!watch->profile && watch->every_ms > 0 &&
        (changed || now_ms >= watch->due_ms)) {
        watch->changes = changes;
        begin_budget_check(watch, changed, now_ms);
    }
    /* The snapshot of a crossing may be refused or fail: it is asked for again,
     * but only after BUDGET_WATCH_RETRY_MS. */
    if ((watch->snapshot_ms != 0 &&
         now_ms - watch->snapshot_ms < BUDGET_WATCH_RETRY_MS) ||
        !budgets_want_snapshot(watch->budgets, reason))
        return false;
    watch->snapshot_ms = now_ms;
    return true;
}

void
budget_watch_take(struct budget_watch *watch)
{
    struct job_result result = {0};
    enum flight_state state;
    struct error err;
    uint64_t cost_ms, rest_ms;

    if (!watch->profile)
        return;
    state = controller_poll_job(watch->profile, &result, &err);
    if (state == FLIGHT_RUNS)
        return;
    flight_leave(watch->profile);
    watch->profile = NULL;
    if (state == FLIGHT_DONE)
        see_snapshot(watch, result.snapshot, false);
    else
        fail_budget_check(watch, &err);
    snapshot_unref(result.snapshot);
    cost_ms = clock_ms() - watch->asked_ms;
    /* the lesser of the last two: one slow check alone does not delay the
     * next */
    rest_ms = BUDGET_WATCH_SHARE *
              (cost_ms < watch->cost_ms ? cost_ms : watch->cost_ms);
    watch->cost_ms = cost_ms;
    if (rest_ms > watch->every_ms)
        watch->due_ms = watch->asked_ms + rest_ms;
}
