/* fake_sql.h - what the parts of the fake sql/ share: see fake_sql.c. */
#ifndef HW_FAKE_SQL_H
#define HW_FAKE_SQL_H

#include "await.h"
#include "cursor.h"
#include "sql.h"

struct error;

enum { ROW_TEXT = 48, COLUMNS = 12, LIST_MAX = 2048 };

struct sql_session {
    const struct sql_node *node;
    struct sql_identity who;
    uint32_t id;
    char database[SQL_NAME_MAX + 1];
    bool autocommit, in_transaction;
    const struct peer_channel *channel;
    uint16_t warnings; /* of the last statement */
};

struct fake;
typedef enum step fake_step(struct fake *fake, struct rows *out,
                            struct error *err);

struct fake {
    struct cursor base;
    fake_step *step;
    struct column columns[COLUMNS];
    struct sql_session *session;
    uint64_t left, done;
    char text[CURSOR_BATCH][ROW_TEXT];
    char *big;
    size_t big_size;
    struct sql_session_row *list;
    struct value *given; /* the parameters */
    size_t given_count;
    struct await *await;
    bool computes; /* its steps compute for long */
};

fake_step step_rows, step_late, step_text, step_empty, step_wait, step_hang,
    step_block, step_types, step_echo, step_typed, step_list, step_stubborn;

/* The columns of SELECT typed. */
struct fake_typed {
    const char *name;
    enum column_type type;
    uint16_t flags;
    const char *text; /* or NULL */
    int64_t integer;
};
extern const struct fake_typed fake_typed[COLUMNS];

extern const struct cursor_ops fake_ops;
void fake_free(struct cursor *cursor);

#endif
