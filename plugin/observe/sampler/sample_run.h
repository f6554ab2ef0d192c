/* sample_run.h - one run of the sampler, for its two ways. */
#ifndef HW_SAMPLE_RUN_H
#define HW_SAMPLE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler.h"

struct sample_run {
    const struct sampler_options *options;
    int (*take)(void *arg, const struct sample *sample, struct error *err);
    void *arg;
    struct sampler_report *report;
    uint32_t hz;
    uint64_t start_ticks;        /* of the process: pid and this are one */
    uint64_t first_ticks, ticks; /* of its processor time: then, and now */
    uint64_t begin_ns, end_ns;
    uint8_t *seen;    /* a bit for each tid */
    uint8_t *ours;    /* of a child's pid, likewise; NULL: it has none */
    int32_t task_pid; /* for sample_task.h */
};

struct sample_tids;

uint64_t sample_now_ns(void);

/* -1 with *err: no such process, or no memory. */
int sample_run_init(struct sample_run *run, struct error *err);
void sample_run_fini(struct sample_run *run);

/* Whom it met, and whom not: another way begins. */
void sample_run_forget(struct sample_run *run);

/* The time begins: nothing of it goes on preparing. */
void sample_run_begin(struct sample_run *run);

/* -1 with *err where it is. */
int sample_run_cancelled(const struct sample_run *run, struct error *err);

/* Waits until then, or until the time is over or the process has ended: *over.
 * -1 with *err: cancelled. */
int sample_run_rest(struct sample_run *run, uint64_t until_ns, bool *over,
                    struct error *err);

/* That the process used since the time began. */
uint64_t sample_run_processor_ms(const struct sample_run *run);

/* The threads of all its processes now. */
int sample_run_tids(const struct sample_run *run, struct sample_tids *tids,
                    struct error *err);
/* Whether that process is sampled: one that it forked meanwhile is. */
bool sample_run_has(struct sample_run *run, int32_t pid);

void sample_run_see(struct sample_run *run, int32_t tid);
bool sample_run_has_seen(const struct sample_run *run, int32_t tid);
int sample_run_give(struct sample_run *run, const struct sample *sample,
                    struct error *err);

/* ---- the ways ---- */

/* 1: it is not allowed: why, of SAMPLE_REFUSED_MAX bytes, says it.  0: it is
 * done; -1 with *err. */
int sample_by_perf(struct sample_run *run, char *why, struct error *err);
int sample_by_ptrace(struct sample_run *run, char *why, struct error *err);

#endif
