/*
 * phase.h - how far the agent's thread is, and whether it is to end.
 *
 * The thread enters phases; the threads that start and stop it wait for them.
 * One agent runs at a time in a process.
 */
#ifndef HW_PHASE_H
#define HW_PHASE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Sent to our thread alone, where it is blocked; the kernel never sends it. */
#define PHASE_WAKE SIGSTKFLT

enum phase { PHASE_STARTING, PHASE_SERVING, PHASE_ENDED };

/* Before the thread is created: PHASE_STARTING, and it is not to end. */
void phase_reset(void);
void phase_enter(enum phase phase);
enum phase phase_now(void);
/* Waits while it is PHASE_STARTING.  0 or ETIMEDOUT. */
int phase_await_start(uint32_t timeout_ms);

/* It is to end; the caller sends PHASE_WAKE to the thread, too. */
void phase_stop(void);
bool phase_stopping(void);

#endif
