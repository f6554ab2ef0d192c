/* sample_run.h - one run of the sampler, for its two ways. */
#ifndef HW_SAMPLE_RUN_H
#define HW_SAMPLE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "processes.h"
#include "sampler.h"

struct sample_run {
    const struct sampler_options *options;
    int (*take)(void *arg, const struct sample *sample, struct error *err);
    void *arg;
    struct sampler_report *report;
    uint32_t hz;
    struct processes processes; /* that are sampled, when it began */
    /* Of processor time: the process's, and all that its children used; first:
     * when the time began. */
    uint64_t first_own_ticks, first_ticks, own_ticks, waited_ticks;
    uint64_t begin_ns, end_ns;
    uint8_t *seen; /* a bit for each tid */
};

struct sample_tids;

uint64_t sample_now_ns(void);

/* -1 with *err: no such process, or no memory. */
int sample_run_init(struct sample_run *run, struct error *err);
void sample_run_fini(struct sample_run *run);

/* Whom it met, and whom not: another way begins. */
void sample_run_reset(struct sample_run *run);

/* The time begins: nothing of it goes on preparing. */
void sample_run_begin(struct sample_run *run);

/* -1 with *err where it is. */
int sample_run_cancelled(const struct sample_run *run, struct error *err);

/* Waits until then, or until the time is over or the process has ended: *over.
 * -1 with *err: cancelled. */
int sample_run_rest(struct sample_run *run, uint64_t until_ns, bool *over,
                    struct error *err);

/* That the process, and its children, used since the time began. */
uint64_t sample_run_processor_ms(struct sample_run *run);

/* The processes that are there now, of the same one. */
void sample_run_list(struct sample_run *run);
/* How many it has forked since they were listed that are there now. */
uint32_t sample_run_born(const struct sample_run *run);
/* The threads of all these. */
int sample_run_tids(const struct sample_run *run, struct sample_tids *tids,
                    struct error *err);

/* A bit for each tid; false where that is none. */
uint8_t *sample_bits_new(void);
bool sample_bits_get(const uint8_t *bits, int32_t tid);
void sample_bits_set(uint8_t *bits, int32_t tid, bool value);

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
