/* profiler_control.c - see profiler_control.h. */
#include "profiler_control.h"

#include "controller.h"
#include "errors.h"
#include "memory.h"
#include "agent_client.h"
#include "node_status.h"
#include "store.h"

/* Whether no kept snapshot would become one that nothing can be compared
 * with. */
static int
check_baselines(const struct agent_client *client, struct store *store,
                struct error *err)
{
    const struct agent_hello *now = &client->status.hello;
    struct store_entry *kept = mem_zalloc(STORE_COUNT_MAX, sizeof(*kept));
    size_t count;
    int rc = 0;

    if (!kept) {
        error_memory(err, "the list of snapshots");
        return -1;
    }
    count = store_list(store, kept, STORE_COUNT_MAX);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (agent_client_same_incarnation(&kept[i].hello, now) &&
            kept[i].hello.resets == now->resets) {
            error_set(err, ER_UNKNOWN,
                      "a reset forgets all samples: snapshot %s and others of "
                      "this process could not be compared with later ones any "
                      "more; delete them first, or say reset(0, true)",
                      kept[i].name);
            rc = -1;
        }
    mem_free(kept);
    return rc;
}

int
profiler_control_run(struct agent_client *client, struct store *store,
                     const struct job_request *wanted,
                     struct job_result *result, struct error *err)
{
    struct agent_request request = {.op = AGENT_SET_ACTIVE,
                                    .number = wanted->kind == JOB_ENABLE,
                                    .seconds = wanted->seconds};
    struct agent_client_answer answer;

    if (wanted->kind == JOB_RESET) {
        request = (struct agent_request){.op = AGENT_RESET,
                                         .number = wanted->lg_sample
                                                       ? wanted->lg_sample
                                                       : AGENT_LG_SAMPLE_SAME,
                                         .force = wanted->force};
        if (!wanted->force && check_baselines(client, store, err) != 0)
            return -1;
    } else if (wanted->kind == JOB_GET_ACTIVE) {
        request = (struct agent_request){.op = AGENT_GET_ACTIVE};
        if (client->status.hello.allocator == AGENT_PROF_OFF)
            return node_status_check(&client->status, err);
    }
    if (agent_client_call(client, &request, &answer, err) != 0)
        return -1;
    result->active = wanted->kind == JOB_GET_ACTIVE && answer.reply.value != 0;
    return 0;
}
