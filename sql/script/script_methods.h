/* script_methods.h - the functions behind the table in script_methods.c. */
#ifndef HW_SCRIPT_METHODS_H
#define HW_SCRIPT_METHODS_H

#include "controller.h"
#include "script_call.h"
#include "snapshot.h"
#include "view_choice.h"

struct view_request;

/* script_heapprof.c: StarRocks' seven methods, reset and state */
enum step heapprof_instance(struct script_call *call, struct error *err);
enum step heapprof_enable(struct script_call *call, struct error *err);
enum step heapprof_disable(struct script_call *call, struct error *err);
enum step heapprof_has_enable(struct script_call *call, struct error *err);
enum step heapprof_snapshot(struct script_call *call, struct error *err);
enum step heapprof_to_dot(struct script_call *call, struct error *err);
enum step heapprof_dump_dot(struct script_call *call, struct error *err);
enum step heapprof_reset(struct script_call *call, struct error *err);
enum step heapprof_state(struct script_call *call, struct error *err);

/* script_snapshots.c */
enum step heapprof_snapshots(struct script_call *call, struct error *err);
enum step heapprof_describe(struct script_call *call, struct error *err);
enum step heapprof_delete(struct script_call *call, struct error *err);
enum step heapprof_delete_like(struct script_call *call, struct error *err);
enum step heapprof_pin(struct script_call *call, struct error *err);

/* script_chain.c: what an instance of Profile shows. */
struct chain {
    char name[SNAPSHOT_NAME_MAX + 1]; /* "": take now instead */
    struct snapshot *now; /* the fresh one; the script holds the reference */
    char base[SNAPSHOT_NAME_MAX + 1]; /* "": none */
    struct view_choice choice;
};

enum step chain_of(struct script_call *call, struct error *err);
enum step chain_now(struct script_call *call, struct error *err);
enum step chain_base(struct script_call *call, struct error *err);
enum step chain_option(struct script_call *call, struct error *err);

/* script_views.c */
enum step chain_view(struct script_call *call, struct error *err);
enum step chain_export(struct script_call *call, struct error *err);
/* Makes the view the call's result: DONE, or FAIL with *err. */
enum step script_view(struct script_call *call,
                      const struct view_request *request, struct error *err);

/* script_await.c: runs the job; renders: a view is made from it afterwards. */
enum step script_await(struct script_call *call,
                       const struct job_request *request, bool renders,
                       struct job_result *result, struct error *err);
/* Does the same for a view, which the call's work keeps. */
enum step script_await_view(struct script_call *call,
                            const struct view_request *request,
                            struct error *err);

#endif
