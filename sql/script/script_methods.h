/* script_methods.h - the functions behind the table in script_methods.c, and
 * what they share. */
#ifndef HW_SCRIPT_METHODS_H
#define HW_SCRIPT_METHODS_H

#include "controller.h"
#include "script.h"
#include "snapshot.h"

int script_check_name(struct span name, struct error *err);
/* Copies argument i, the name of a snapshot, to out; -1: invalid name. */
int script_snapshot_name(struct script_call *call, size_t i,
                         char out[SNAPSHOT_NAME_MAX + 1], struct error *err);
/* Blames argument i for *err; returns STEP_FAIL. */
enum step script_blame(struct script_call *call, size_t i);
/* Sets the result to a String, which can be printed or joined. */
void script_return_text(struct script_call *call, const char *data,
                        size_t size);
void script_return_instance(struct script_call *call, const void *state);

/* StarRocks' seven methods, reset and state */
enum step heapprof_instance(struct script_call *call, struct error *err);
enum step heapprof_enable(struct script_call *call, struct error *err);
enum step heapprof_disable(struct script_call *call, struct error *err);
enum step heapprof_has_enable(struct script_call *call, struct error *err);
enum step heapprof_snapshot(struct script_call *call, struct error *err);
enum step heapprof_to_dot(struct script_call *call, struct error *err);
enum step heapprof_dump_dot(struct script_call *call, struct error *err);
enum step heapprof_reset(struct script_call *call, struct error *err);
enum step heapprof_state(struct script_call *call, struct error *err);

/* script_diagnose.c */
enum step heapprof_diagnose(struct script_call *call, struct error *err);

/* script_snapshots.c */
enum step heapprof_snapshots(struct script_call *call, struct error *err);
enum step heapprof_describe(struct script_call *call, struct error *err);
enum step heapprof_delete(struct script_call *call, struct error *err);
enum step heapprof_delete_like(struct script_call *call, struct error *err);
enum step heapprof_pin(struct script_call *call, struct error *err);

/* script_cpuprof.c */
enum step cpuprof_profile(struct script_call *call, struct error *err);
enum step cpuprof_snapshot(struct script_call *call, struct error *err);
/* How many seconds a call of that method samples; 0: it does not sample.
 * seconds NULL: the method's default. */
uint32_t cpuprof_seconds(const struct script_method *method,
                         const struct script_value *seconds);
/* script_jemalloc.c */
enum step jemalloc_purge(struct script_call *call, struct error *err);
enum step jemalloc_decay(struct script_call *call, struct error *err);
enum step jemalloc_background(struct script_call *call, struct error *err);
enum step jemalloc_flush_tcaches(struct script_call *call, struct error *err);
enum step jemalloc_undo(struct script_call *call, struct error *err);
enum step jemalloc_state(struct script_call *call, struct error *err);
enum step jemalloc_risks(struct script_call *call, struct error *err);

/* script_execenv.c */
enum step execenv_all_threads(struct script_call *call, struct error *err);
enum step execenv_thread(struct script_call *call, struct error *err);
enum step execenv_function(struct script_call *call, struct error *err);

/* Profile */
/* An instance that shows the snapshot, which the script holds. */
enum step chain_of_fresh(struct script_call *call, struct snapshot *snapshot,
                         struct error *err);
/* Prints the most useful of a Profile whose snapshot is none of the heap.
 * false: it is no such Profile. */
bool chain_prints(const struct script_value *value);
enum step chain_print(struct script_call *call, struct error *err);
enum step chain_of(struct script_call *call, struct error *err);
enum step chain_now(struct script_call *call, struct error *err);
enum step chain_base(struct script_call *call, struct error *err);
enum step chain_option(struct script_call *call, struct error *err);
enum step chain_view(struct script_call *call, struct error *err);
enum step chain_export(struct script_call *call, struct error *err);

#endif
