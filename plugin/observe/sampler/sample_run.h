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
    /* that are sampled, as listed at the beginning */
    struct processes processes;
    /* Processor time in ticks: the process's own, with all that its children
     * used, and both at the beginning (first_). */
    uint64_t first_own_ticks, first_ticks, own_ticks, waited_ticks;
    uint64_t begin_ns, end_ns;
    uint8_t *seen; /* a bit for each tid */
};

struct sample_tids;

uint64_t sample_now_ns(void);

/* -1 with *err: no such process, or no memory. */
int sample_run_init(struct sample_run *run, struct error *err);
void sample_run_fini(struct sample_run *run);

/* Forgets which threads were met, as another way begins. */
void sample_run_reset(struct sample_run *run);

/* Starts the clock, after all is prepared. */
void sample_run_begin(struct sample_run *run);

/* 0, or -1 with *err if it was cancelled. */
int sample_run_cancelled(const struct sample_run *run, struct error *err);

/* Waits until until_ns.  *over is set if the profile's time is over or the
 * process has ended.  -1 with *err: cancelled. */
int sample_run_rest(struct sample_run *run, uint64_t until_ns, bool *over,
                    struct error *err);

/* Processor time of the process and its children since sample_run_begin(). */
uint64_t sample_run_processor_ms(struct sample_run *run);

/* Lists the processes anew; none if the database's pid is another process
 * now. */
void sample_run_list(struct sample_run *run);
/* How many children exist now that were not listed. */
uint32_t sample_run_born(const struct sample_run *run);
/* Lists the threads of all listed processes. */
int sample_run_tids(const struct sample_run *run, struct sample_tids *tids,
                    struct error *err);

/* A set of tids, as bits.  A number that cannot be a tid is in none. */
uint8_t *sample_bits_new(void);
bool sample_bits_get(const uint8_t *bits, int32_t tid);
void sample_bits_set(uint8_t *bits, int32_t tid, bool value);

void sample_run_see(struct sample_run *run, int32_t tid);
bool sample_run_has_seen(const struct sample_run *run, int32_t tid);
int sample_run_give(struct sample_run *run, const struct sample *sample,
                    struct error *err);

/* ---- the ways ---- */

/* 0: done; 1: not allowed, and why (SAMPLE_REFUSED_MAX bytes) says why not; -1
 * with *err. */
int sample_by_perf(struct sample_run *run, char *why, struct error *err);
int sample_by_ptrace(struct sample_run *run, char *why, struct error *err);

#endif
