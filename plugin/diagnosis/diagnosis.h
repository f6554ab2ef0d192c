/*
 * diagnosis.h - what is unusual about a database's memory, why, and what to do.
 *
 * Pure: facts in, findings and a page of text out.
 */
#ifndef HW_DIAGNOSIS_H
#define HW_DIAGNOSIS_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct diagnosis_facts;

/* In the order in which they are told. */
enum finding_kind {
    FINDING_DIED,
    FINDING_HANGS,
    FINDING_FULL_SOON,
    FINDING_LEAK,
    FINDING_GROWTH, /* nobody knows whether leak or cache */
    FINDING_FRAGMENTATION,
    FINDING_FREE_PAGES,
    FINDING_OUTSIDE,
    FINDING_CACHE_FILLS,
    FINDING_LIMIT_LOW,
    FINDING_NOT_KNOWN_YET,
    FINDING_NOTHING_UNUSUAL,
    FINDING_KINDS
};

enum finding_certainty { FINDING_POSSIBLE, FINDING_LIKELY, FINDING_CERTAIN };

enum {
    FINDINGS_MAX = 24, /* what diagnosis_find adds at most */
    FINDING_TEXT_MAX = 640,
    FINDING_SUBJECT_MAX = 256, /* a longer function's name is cut, with "..." */
    FINDING_STEPS_MAX = 4
};

struct finding {
    enum finding_kind kind;
    enum finding_certainty certainty;
    char subject[FINDING_SUBJECT_MAX]; /* the function or owner; or "" */
    uint64_t bytes;                    /* its size; 0: it has none */
    char why[FINDING_TEXT_MAX];        /* what was seen: a sentence */
    char steps[FINDING_STEPS_MAX][FINDING_TEXT_MAX]; /* the least risky first */
    size_t step_count;
};

struct diagnosis {
    struct finding findings[FINDINGS_MAX];
    size_t count; /* at least 1 */
};

/* A part of RSS of at least this many bytes, and of this percentage, is worth a
 * finding. */
enum {
    FINDING_WORTH_BYTES = 16 << 20,
    FINDING_OUTSIDE_BYTES = 32 << 20, /* outside of jemalloc: code is there */
    FINDING_WORTH_PERCENT = 15
};

void diagnosis_find(const struct diagnosis_facts *facts, struct diagnosis *out);

/* "leak", "does not answer": the finding's kind, and its certainty, in
 * words. */
const char *finding_kind_name(enum finding_kind kind);
const char *finding_certainty_name(enum finding_certainty certainty);

/* A page of plain text in lines: the findings with their steps, then where the
 * bytes of RSS are, then what grew. */
void diagnosis_write(const struct diagnosis_facts *facts,
                     const struct diagnosis *diagnosis, struct buffer *out);

#endif
