/* sample_task.h - what /proc says of one thread. */
#ifndef HW_SAMPLE_TASK_H
#define HW_SAMPLE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a small file: what fits, ended by NUL; "" where it cannot be read. */
bool sample_read_text(const char *path, char *out, size_t size);
/* /proc/PID/task/TID/name, likewise. */
bool sample_task_read(int32_t pid, int32_t tid, const char *name, char *out,
                      size_t size);

/* As in /proc: R, S, D, T, t, Z, ...; '\0': there is no such thread. */
char sample_task_state(int32_t pid, int32_t tid);
/* Whether it has ended: what is left of it is a zombie, or nothing. */
bool sample_task_ended(int32_t pid, int32_t tid);

#endif
