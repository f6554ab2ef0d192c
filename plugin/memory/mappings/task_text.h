/*
 * task_text.h - where a thread's stack pointer is, by what /proc/<pid>/task/
 * <tid>/syscall says; and the list of threads that an agent makes of those.
 *
 * Untrusted: an agent in somebody's process may have written it.
 */
#ifndef HW_TASK_TEXT_H
#define HW_TASK_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "reader.h"

struct map_thread;

/* Of a thread that waits; 0: it runs, or that is no such text. */
uint64_t task_text_sp(struct span text);
/* Lines "<tid> <syscall>\t<name>", as AGENT_SMAPS has them: how many, at most
 * max; lines without a number are skipped. */
size_t task_text_parse(struct span text, struct map_thread *out, size_t max);

#endif
