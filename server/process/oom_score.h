/* oom_score.h - which process the kernel ends when memory is out. */
#ifndef HW_OOM_SCORE_H
#define HW_OOM_SCORE_H

enum {
    /* heapwired before a database that has nearly all memory ... */
    OOM_SCORE_ABOVE = 990,
    /* ... and behind the symboliser, which takes 1000. */
    OOM_SCORE_MAX = 990
};

/* Raises our own oom_score_adj above our parent's, which is also the
 * database's.  Needs no privilege. */
void oom_score_raise(void);

#endif
