/* observe.c - see observe.h. */
#include "observe.h"

#include "errors.h"

struct seat *
controller_observe(struct controller *controller,
                   const struct observe_request *request, struct waker waker,
                   struct error *err)
{
    (void)controller, (void)request, (void)waker;
    error_set(err, ER_FEATURE_DISABLED, "not yet");
    return NULL;
}

int
controller_observe_wait(struct seat *seat, struct await *await,
                        struct observe_result *result, struct error *err)
{
    (void)seat, (void)await, (void)result;
    error_set(err, ER_FEATURE_DISABLED, "not yet");
    return -1;
}
