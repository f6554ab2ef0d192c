/* sample_task.h - what /proc says of threads. */
#ifndef HW_SAMPLE_TASK_H
#define HW_SAMPLE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct processes;

/* Of a small file: what fits, ended by NUL; "" where it cannot be read. */
bool sample_read_text(const char *path, char *out, size_t size);
/* /proc/PID/task/TID/name, likewise. */
bool sample_task_read(int32_t pid, int32_t tid, const char *name, char *out,
                      size_t size);

/* As in /proc: R, S, D, T, t, Z, ...; '\0': there is no such thread. */
char sample_task_state(int32_t pid, int32_t tid);
/* Whether it has ended: what is left of it is a zombie, or nothing. */
bool sample_task_ended(int32_t pid, int32_t tid);

/* Of a thread since its start. */
struct sample_times {
    uint64_t run_ns; /* on a processor; a running one's is up to a tick old */
    uint64_t waited_ns; /* for one */
    uint64_t slices;    /* how often it came onto one */
};

/* Where it waits in a system call.  False: it runs, it waits elsewhere, or this
 * user may not know. */
bool sample_task_waits(int32_t pid, int32_t tid, uint64_t *sp, uint64_t *pc);
/* False: there is no such thread, or the kernel does not say it. */
bool sample_task_times(int32_t pid, int32_t tid, struct sample_times *out);

#define SAMPLE_OWN_SCHEDSTAT "/proc/thread-self/schedstat"

/* How long a thread, whose open schedstat this is, waited for a processor so
 * far; 0: not known. */
uint64_t sample_wait_us(int schedstat);

enum { SAMPLE_MEMORY_MAX = 480 << 10 };

/* Reads from there on, page by page, what is mapped: how much.  size:
 * SAMPLE_MEMORY_MAX at most. */
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

/* The threads of a process now; none where it has ended.  -1 with *err: no
 * memory, or it cannot be looked at. */
int sample_tids_list(int32_t pid, struct sample_tids *tids, struct error *err);
/* Those of all of them that are still there, and execute what they did. */
int sample_tids_list_all(const struct processes *processes,
                         struct sample_tids *tids, struct error *err);
void sample_tids_free(struct sample_tids *tids); /* zeroed is fine */

#endif
