/* sample_task.h - what /proc says of threads. */
#ifndef HW_SAMPLE_TASK_H
#define HW_SAMPLE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct processes;

/* Reads a small file: what fits, ended by NUL.  False and "": it cannot be
 * read. */
bool sample_read_text(const char *path, char *out, size_t size);
/* The same for /proc/PID/task/TID/name. */
bool sample_task_read(int32_t pid, int32_t tid, const char *name, char *out,
                      size_t size);

/* Its state as in /proc: R, S, D, T, t, Z, ...; '\0': there is no such
 * thread. */
char sample_task_state(int32_t pid, int32_t tid);
/* Whether it is a zombie or does not exist. */
bool sample_task_ended(int32_t pid, int32_t tid);

/* Scheduler's counts of a thread since its start. */
struct sample_times {
    uint64_t run_ns;    /* on a processor; up to a tick old while it runs */
    uint64_t waited_ns; /* waited for a processor */
    uint64_t slices;    /* how often it was put on a processor */
};

/* Its stack pointer and program counter, if it waits in a system call.  False:
 * it runs, waits elsewhere, or this user may not know. */
bool sample_task_waits(int32_t pid, int32_t tid, uint64_t *sp, uint64_t *pc);
/* False: there is no such thread, or this kernel has no schedstat. */
bool sample_task_times(int32_t pid, int32_t tid, struct sample_times *out);

#define SAMPLE_OWN_SCHEDSTAT "/proc/thread-self/schedstat"

/* How long the thread of this open schedstat file has waited for a processor so
 * far; 0: unknown. */
uint64_t sample_wait_us(int schedstat);

enum { SAMPLE_MEMORY_MAX = 480 << 10 };

/* Reads memory from at on, up to the first page that is not mapped; returns how
 * much.  size is at most SAMPLE_MEMORY_MAX. */
size_t sample_task_memory(int32_t tid, uint64_t at, uint8_t *out, size_t size);

enum { SAMPLE_THREADS_MAX = 1 << 15 };

struct sample_tid {
    int32_t tid, pid;
};

struct sample_tids {
    struct sample_tid *list; /* ascending */
    size_t count, capacity;
    size_t left_out; /* beyond SAMPLE_THREADS_MAX */
};

/* Lists the threads of a process; none if it has ended.  -1 with *err: no
 * memory, or it cannot be looked at. */
int sample_tids_list(int32_t pid, struct sample_tids *tids, struct error *err);
/* Lists the threads of all those processes that still exist and execute the
 * same file. */
int sample_tids_list_all(const struct processes *processes,
                         struct sample_tids *tids, struct error *err);
void sample_tids_fini(struct sample_tids *tids); /* zeroed is fine */

#endif
