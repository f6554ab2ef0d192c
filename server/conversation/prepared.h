/*
 * prepared.h - the prepared statements of one session.
 *
 * Made with the first of them.  Of the thread that has the session.  A
 * statement's memory is counted where it is taken.  COM_STMT_SEND_LONG_DATA has
 * no reply, so the next COM_STMT_EXECUTE reports its faults.
 */
#ifndef HW_PREPARED_H
#define HW_PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "errors.h"
#include "memory_budget.h"
#include "reader.h"

struct statement;

enum {
    PREPARED_MAX = 256, /* statements of a session */
    /* their texts, types and long data, of a session */
    PREPARED_BYTES_MAX = 16 * 1024 * 1024 + 64 * 1024,
    PREPARED_CURSORS_MAX = 8 /* open ones of a session */
};

struct long_data {
    struct buffer bytes;
    bool given; /* sent, perhaps empty */
};

struct prepared {
    struct prepared_list *list;
    uint32_t id;
    char *text;
    size_t text_size;
    size_t parameter_count;
    uint16_t *types; /* of each parameter, from the last EXECUTE with types */
    bool typed;      /* there was one */
    struct long_data *long_data; /* of each parameter; NULL: none was sent */
    enum error_code fault;       /* of SEND_LONG_DATA; 0: none */
    struct statement *cursor;    /* open, and perhaps running; or NULL */
};

struct prepared_list {
    struct prepared *slots[PREPARED_MAX];
    uint32_t made; /* how many were made so far: the upper part of ids */
    size_t count;
    size_t bytes;
    struct memory_reservation reserved;
    const char *owner;
    size_t cursors;
};

/* Copies the text.  Ids are neither 0 nor 0xffffffff, and one comes back only
 * after millions of others.  NULL with *err; *home is made when it is NULL, and
 * reserves memory for owner, whose name outlasts it. */
struct prepared *prepared_new(struct prepared_list **home, const char *owner,
                              struct span text, size_t parameter_count,
                              struct error *err);
/* NULL with *err: there is no such statement; list NULL is fine. */
struct prepared *prepared_find(struct prepared_list *list, uint32_t id,
                               const char *command, struct error *err);

/* Appends; a fault is kept, and what came so far is dropped. */
void prepared_add_long(struct prepared *prepared, uint16_t parameter,
                       struct span data);
/* -1 with *err when there was a fault. */
int prepared_check_long(const struct prepared *prepared, struct error *err);
/* Forgets long data and its fault. */
void prepared_drop_long(struct prepared *prepared);

/* Neither closes cursors; the caller does.  NULL is fine. */
void prepared_free(struct prepared *prepared);
void prepared_list_free(struct prepared_list *list);

#endif
