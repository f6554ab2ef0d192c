/*
 * phase.h - the phase of the agent's thread, and whether it must end.
 *
 * The thread enters phases; the threads that start and stop it wait for them.
 * One agent runs at a time in a process.
 */
#ifndef HW_PHASE_H
#define HW_PHASE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* A signal for our thread alone, which blocks it; the kernel never sends it. */
#define PHASE_WAKE SIGSTKFLT

enum phase {
    PHASE_STARTING,
    PHASE_APART, /* has left the host's descriptor table, or cannot */
    PHASE_SERVING,
    PHASE_ENDED
};

/* Call before creating the thread: sets PHASE_STARTING, clears the request to
 * end. */
void phase_reset(void);
void phase_enter(enum phase phase);
enum phase phase_now(void);
/* Waits for that phase or a later one.  0 or ETIMEDOUT. */
int phase_await(enum phase phase, uint32_t timeout_ms);

/* Requests the end; the caller also sends PHASE_WAKE to the thread.  aside: it
 * leaves all that it has to the next thread (handover.h). */
void phase_stop(bool aside);
/* Takes the request back; false: the thread has seen it, and goes. */
bool phase_stay(void);
/* The thread's: once they are true the request stands. */
bool phase_stopping(void);
bool phase_aside(void);
/* The thread waits; phase_stop() ends that. */
void phase_pause(uint32_t ms);

#endif
