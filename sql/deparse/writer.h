/* writer.h - the state of what writes SQLite's text, shared by its files. */
#ifndef HW_WRITER_H
#define HW_WRITER_H

#include "deparse.h"
#include "select_tree.h"
#include "types.h"

/* The kind of an expression; it decides how the expression compares. */
enum operand_kind {
    OPERAND_COLUMN,
    OPERAND_NUMBER,
    OPERAND_STRING,
    OPERAND_TEMPORAL, /* DATE'2026-01-31': a string, except in arithmetic */
    OPERAND_ROW,      /* (a, b) */
    OPERAND_BINARY,   /* COLLATE utf8mb4_bin */
    OPERAND_HEX,      /* 0x1f: bytes, but a number beside a number */
    OPERAND_OTHER
};

/* How closely SQLite's operators bind, from the loosest. */
enum tight {
    TIGHT_OR,
    TIGHT_AND,
    TIGHT_NOT,
    TIGHT_EQUAL,
    TIGHT_ORDER,
    TIGHT_ESCAPE,
    TIGHT_ARROW,
    TIGHT_COLLATE,
    TIGHT_ATOM
};

/* What a comparison's operands become; see write_temporal.c. */
enum temporal_form {
    TEMPORAL_FORM_NONE, /* none is a date or a time, or all are plain dates */
    TEMPORAL_FORM_DATE, /* as TEMPORAL_FORM_DATETIME, which a date is then */
    TEMPORAL_FORM_DATETIME,
    TEMPORAL_FORM_TIME,
    TEMPORAL_FORM_REAL /* not dates: numbers and texts in rows, compared as
                        * doubles */
};

enum {
    LISTED_MAX = 90 /* values of a hw_in: well below SELECT_ARGUMENTS_MAX */
};

struct sides {
    size_t count; /* of columns */
    enum temporal_form first;
    const enum temporal_form *all; /* NULL: one column */
};

struct scope { /* a SELECT that is being written */
    struct scope *outer;
    const struct tree_select *select;
    const char *where; /* the clause, as faults name it */
    bool lists;        /* it is the list */
    /* It orders this UNION's rows; hw_v0, ... are the columns of these. */
    const struct tree_query *united;
};

/* The position in the source of the byte at an offset in sql. */
struct mark {
    size_t offset;
    const char *source, *where;
};

struct writer {
    const struct deparse *job;
    const struct tree *tree;
    struct deparsed *result;
    struct buffer *sql;
    struct error *err;
    struct scope *scope; /* the innermost; NULL: none */
    unsigned slots;      /* number of slots so far; see handle.h */
    size_t parameters;   /* number of ? so far */
    size_t *positions;
    struct span snapshot_alias;
    const struct tree_cte *recursive; /* the one that is being written */
    bool recurs;                      /* what is written reads it */
    bool compared; /* the column is an operand of a comparison, */
    bool joined;   /* with another one of its name */
    bool failed;   /* *err is set; what is written does not matter */
    bool marking;  /* notes marks, only to locate a fault */
    struct mark *marks;
    size_t mark_count, mark_capacity;
    /* The writers of other files that lower ones call back. */
    void (*query)(struct writer *w, const struct tree_query *query);
    void (*node)(struct writer *w, const struct node *node);
};

/* ---- write_kind.c ---- */

enum operand_kind write_kind(const struct node *node);
enum tight write_tight(const struct writer *w, const struct node *node);
bool write_is_text(enum operand_kind kind);
/* Whether it asks for utf8mb4_bin, or for bytes. */
bool write_is_bin(const struct node *node);
/* Whether it is TRUE, FALSE or what gives one of these. */
bool write_is_truth(const struct node *node);
/* Is it certainly a number: an operator, COUNT, SUM? */
bool write_is_number(const struct node *node);
bool write_is_comparison(enum tree_operator op);
/* Whether rows of one size are equated, which is done pair by pair. */
bool write_is_pairs(const struct node *node);
/* Whether the operator is written as SQLite's. */
bool write_is_native(const struct writer *w, const struct node *node);
/* Does IN compare by hw_in?  A column, or a SELECT's, knows how it compares;
 * for other operands hw_in gets that as an argument. */
bool write_is_listed(const struct writer *w, const struct node *node);
/* Whether the list of IN is a SELECT, not values. */
bool write_is_query(const struct node *list);

/* Written around an expression whose kind SQLite drops, if it is a DECIMAL or
 * past 63 bits: hw_decimal(..., 2). */
void write_begin_kind(struct writer *w, struct result_type type);
void write_end_kind(struct writer *w, struct result_type type);
/* The type of a node that has lost its kind; of others COLUMN_NULL. */
struct result_type write_lost_kind(const struct node *node);
/* Whether its values may be numbers, and become texts: CASE, IF, ... */
bool write_chooses_text(const struct node *node);
/* Whether SQLite's own comparison would take it for a text. */
bool write_is_long(const struct node *node);

/* The form that the operands in a list need, or their columns at that place. */
enum temporal_form write_temporal_form(const struct node *operands,
                                       size_t column);
enum temporal_form write_case_temporal_form(const struct node *node);
/* Whether it is a moment of that kind. */
bool write_is_temporal(const struct node *node, enum temporal_form as);

/* ---- writer.c ---- */

/* Sets 1235: a limit of heapwire is passed. */
void write_fail_many(struct writer *w, const char *what, int most,
                     const char *where);
void write_identifier(struct writer *w, struct span name);
/* Writes a name with a blank inside its quotes at the end, so that it is never
 * one of the writer's own (hw_rows, hw_named). */
void write_cte_name(struct writer *w, struct span name);
void write_label(struct writer *w, const struct tree_item *item);
void write_column_label(struct writer *w, struct span label); /* cut */
void write_string(struct writer *w, struct span text); /* between quotes */
void write_mark(struct writer *w, const char *source);
unsigned write_slot(struct writer *w); /* a new one */

void write_expression(struct writer *w, const struct node *node);
void write_list(struct writer *w, const struct node *first); /* a, b */
/* In parentheses, if it binds less closely than that. */
void write_operand(struct writer *w, const struct node *node, enum tight least);
/* An operand that a condition compares. */
void write_compared(struct writer *w, const struct node *node,
                    enum tight least);
/* An operand of a comparison that stays SQLite's: texts compare as a column's
 * do. */
void write_collated(struct writer *w, const struct node *node);
/* The terms of GROUP BY or PARTITION BY. */
void write_sorted_list(struct writer *w, const struct node *first);
/* lists: its terms may mean items of the list. */
void write_order(struct writer *w, const struct tree_order *order, bool lists);

/* Notes what names a snapshot. */
void write_snapshot_column(struct writer *w, const struct node *column);
void write_snapshot_value(struct writer *w, const struct value *value);
/* Whether it is a column of that name. */
bool write_is_snapshot(const struct writer *w, const struct node *node);

/* ---- write_temporal.c ---- */

size_t write_count(const struct node *first); /* of a list */

/* Error 1525. */
void write_wrong_temporal(struct writer *w, const char *type, struct span text);
/* Gives it that form; date: TEMPORAL_FORM_DATE has no time of day then. */
void write_as_temporal(struct writer *w, const struct node *node,
                       enum temporal_form as, bool date);
/* The text of a constant, if it is one and known. */
bool write_known_text(const struct writer *w, const struct node *node,
                      struct span *out);
/* An operand of arithmetic, or of SUM: a date or a time is a number. */
void write_number(struct writer *w, const struct node *node);
void write_scalar(struct writer *w, const struct node *node,
                  enum temporal_form as, enum tight least);
/* Finds the form that each column of a list of operands needs.  Call it once
 * for all of them: the list may be long. */
struct sides write_sides(struct writer *w, const struct node *operands);
/* One of the operands: a row, or a scalar. */
void write_side(struct writer *w, const struct node *node,
                const struct sides *sides, enum tight least);
/* One of them is a query: its column, which has that name. */
void write_value(struct writer *w, const char *name, const struct node *query,
                 const struct sides *sides, size_t column);
/* The SELECT of a NODE_QUERY, in parentheses, as a list of rows; sides: of the
 * comparison that it is in, or NULL. */
void write_rows(struct writer *w, const struct node *node,
                const struct sides *sides);

/* ---- write_call.c ---- */

void write_call(struct writer *w, const struct node *node);
void write_window(struct writer *w, const struct tree_window *window);

/* ---- write_operator.c ---- */

void write_operator(struct writer *w, const struct node *node);

/* ---- write_expression.c ---- */

void write_node(struct writer *w, const struct node *node);

#endif
