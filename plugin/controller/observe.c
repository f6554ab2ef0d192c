/* observe.c - see observe.h. */
#include "observe.h"

#include <inttypes.h>

#include "controller.h"
#include "errors.h"
#include "node_status.h"
#include "observer.h"
#include "process_stat.h"
#include "sampler.h"
#include "store.h"
#include "unwind_tables.h"

/* The process's pid as we see it, with an agent or without; 0 with *err. */
static int32_t
find_process(const struct node_status *status, struct error *err)
{
    struct process_stat stat = {0};

    if ((status->state == NODE_CONNECTED ||
         status->state == NODE_UNRESPONSIVE) &&
        process_stat_read(status->peer, &stat) && stat.state != 'Z')
        return status->peer;
    if (status->absent.pid != 0 &&
        process_lives(status->absent.pid, status->absent.start_ticks))
        return status->absent.pid;
    if (node_status_check(status, err) == 0)
        error_set(err, ER_UNKNOWN,
                  "the database's process (pid %" PRId32 ") is not visible to "
                  "heapwired: it needs the same pid namespace",
                  status->hello.pid);
    return 0;
}

int32_t
controller_observe_process(struct controller *controller, struct error *err)
{
    struct node_status status;

    controller_status(controller, &status);
    return find_process(&status, err);
}

static int
check_request(const struct observe_request *request, struct error *err)
{
    if (request->kind == OBSERVE_THREADS)
        return 0;
    if (request->seconds < 1 || request->seconds > OBSERVE_SECONDS_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "a profile of time takes 1 to %d seconds, not %" PRIu32,
                  OBSERVE_SECONDS_MAX, request->seconds);
        return -1;
    }
    if (request->hz > SAMPLER_HZ_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "a profile of time takes 1 to %d samples a second of each "
                  "thread, not %" PRIu32,
                  SAMPLER_HZ_MAX, request->hz);
        return -1;
    }
    return 0;
}

struct seat *
controller_observe(struct controller *controller,
                   const struct observe_request *request, struct waker waker,
                   struct error *err)
{
    struct observer *observer = controller_observer(controller);
    struct node_status status;
    int32_t pid;

    controller_status(controller, &status);
    pid = check_request(request, err) == 0 ? find_process(&status, err) : 0;
    if (pid == 0 ||
        (request->name &&
         store_check_name(observer->store, request->name, err) != 0))
        return NULL;
    return observer_join(observer, request, &status, pid, waker, err);
}

int
controller_observe_give(struct controller *controller, uint32_t uid,
                        uint32_t gid, struct error *err)
{
    struct observer *observer = controller_observer(controller);

    for (int i = 0; i < 2; i++)
        if (unwind_tables_give(observer->tables[i], uid, gid, err) != 0)
            return -1;
    return 0;
}
