/*
 * observe.c - checks requests to observe, and finds the process; observer.c
 * runs them.
 */
#include "observe.h"

#include <inttypes.h>

#include "controller.h"
#include "errors.h"
#include "node_status.h"
#include "observer.h"
#include "store.h"
#include "thread_tracer.h"
#include "unwind_store.h"

int32_t
controller_observe_pid(struct controller *controller, struct error *err)
{
    struct node_status status;

    controller_status(controller, &status);
    return node_status_find_process(
               &status, controller_observer(controller)->state_dir, err)
        .pid;
}

static int
check_observe_request(const struct observe_request *request, struct error *err)
{
    if (request->kind == OBSERVE_THREADS)
        return 0;
    if (request->seconds < 1 || request->seconds > OBSERVE_SECONDS_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "a profile of time takes 1 to %d seconds, not %" PRIu32,
                  OBSERVE_SECONDS_MAX, request->seconds);
        return -1;
    }
    if (request->hz > OBSERVE_HZ_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "a profile of time takes 1 to %d samples a second of each "
                  "thread, not %" PRIu32,
                  OBSERVE_HZ_MAX, request->hz);
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
    struct node_arrival process;
    struct node_status status;

    if (check_observe_request(request, err) != 0)
        return NULL;
    controller_status(controller, &status);
    process = node_status_find_process(&status, observer->state_dir, err);
    if (process.pid == 0 ||
        (request->name &&
         store_check_name(observer->store, request->name, err) != 0))
        return NULL;
    return observer_join(observer, request, &status, &process, waker, err);
}

/* As root, before it is given up: what needs privileges is kept or handed
 * over. */
int
controller_observe_give(struct controller *controller, uint32_t uid,
                        uint32_t gid, struct error *err)
{
    thread_tracer_keep_priority();
    return unwind_store_give(controller_observer(controller)->unwind_store, uid,
                             gid, err);
}
