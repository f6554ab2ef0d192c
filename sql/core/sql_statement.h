/*
 * sql_statement.h - a parsed statement, before any name in it is looked up.
 *
 * Spans borrow the statement's text, or the arena that it was parsed into.
 */
#ifndef HW_SQL_STATEMENT_H
#define HW_SQL_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lexer.h"

struct tree;

enum {
    TARGETS_MAX = 1024,    /* ids of one ADMIN EXECUTE */
    ASSIGNMENTS_MAX = 256, /* assignments of one SET */
    NESTING_MAX = 64       /* levels of parentheses */
};

/* The text of ER_STACK_OVERRUN.  SQLite's parser holds about 18 levels, or 30
 * of calls, which arithmetic is. */
#define STATEMENT_TOO_DEEP                                                     \
    "The expression is nested too deeply: about 18 levels of CASE or of "      \
    "subqueries fit, 30 sums or products in a row, 64 of parentheses, and "    \
    "500 of AND or OR"

/* The text where a limit is passed: of what, how many, where. */
#define STATEMENT_TOO_MANY "Too many %s: at most %d in %s"

enum statement_kind {
    STATEMENT_ADMIN_EXECUTE,
    STATEMENT_SELECT,
    STATEMENT_SHOW,
    STATEMENT_SET,
    STATEMENT_USE,
    STATEMENT_KILL,
    STATEMENT_DO,
    STATEMENT_BEGIN,
    STATEMENT_END, /* COMMIT, ROLLBACK */
    STATEMENT_EXPLAIN,
    STATEMENT_MAINTAIN, /* CHECK TABLE, ... */
    STATEMENT_FORWARD,  /* ADMIN FORWARD, from another node */
    STATEMENT_IMPORT,   /* CALL import_snapshot() */
    STATEMENT_BUDGET,   /* CALL budget() */
    STATEMENT_PREPARE,
    STATEMENT_DEALLOCATE,
    STATEMENT_NOTHING, /* answered with an OK: nothing to flush, lock, ... */
    STATEMENT_KIND_COUNT
};

struct tree;

enum target_kind {
    TARGET_ONE,  /* ids[0]; its answer has a row for each line */
    TARGET_LIST, /* ids, ascending and distinct */
    TARGET_ALL,
    TARGET_BACKENDS,
    TARGET_COMPUTE_NODES
};

struct admin_execute {
    enum target_kind target;
    const uint64_t *ids;
    size_t id_count;
    struct span script;
    bool ids_unknown,
        script_unknown; /* a ? stands there, and its value is unknown */
};

struct import {
    struct span name, bytes;
};

/* removes: its limit is NULL. */
struct budget_call {
    struct span name, limit;
    bool removes;
};

enum show_subject {
    SHOW_OF_NODE,        /* needs no further words */
    SHOW_OF_DATABASE,    /* lists the named database, or the current one */
    SHOW_OF_TABLE,       /* FROM table [FROM database] */
    SHOW_NAMED_TABLE,    /* CREATE TABLE table */
    SHOW_NAMED_ROUTINE,  /* CREATE FUNCTION table, PROCEDURE table */
    SHOW_NAMED_DATABASE, /* CREATE DATABASE database */
    SHOW_NAMED_USER,     /* GRANTS FOR user, CREATE USER user */
    SHOW_OF_LOG,         /* BINLOG EVENTS [IN log] [FROM position] */
    SHOW_OF_CHANNEL,     /* REPLICA STATUS [FOR CHANNEL name] */
    SHOW_NAMED_ENGINE    /* ENGINE table STATUS */
};

struct show {
    const char *what; /* name of a table in CATALOG_HIDDEN */
    enum show_subject subject;
    bool full, global;
    bool has_database, has_user, has_like;
    bool has_limit;
    uint64_t offset, rows; /* LIMIT */
    struct span database, table, user, like;
    const struct tree *where; /* NULL: none */
};

enum assignment_target {
    ASSIGN_VARIABLE,
    ASSIGN_USER, /* @name */
    ASSIGN_NAMES /* SET NAMES value [COLLATE name] */
};

enum assignment_value {
    VALUE_IS_DEFAULT,
    VALUE_IS_TEXT, /* a bare word or a string is taken as text */
    VALUE_IS_EXPRESSION
};

struct assignment {
    struct assignment *next;
    enum assignment_target target;
    enum variable_scope scope;
    struct span name; /* the variable; or the collation, possibly empty */
    enum assignment_value kind;
    struct span text;
    const struct tree *expression;
};

enum explain_format { EXPLAIN_TABLE, EXPLAIN_JSON, EXPLAIN_TREE };

struct named_table {
    struct named_table *next;
    bool has_database;
    struct span database, table;
};

struct sql_statement {
    enum statement_kind kind;
    struct span source;
    size_t parameters; /* number of ? in the statement */
    uint32_t
        timeout_s;   /* heapwire_timeout of this statement; 0: the session's */
    uint32_t max_ms; /* MAX_EXECUTION_TIME of this SELECT; 0: the session's */
    uint32_t
        parallel; /* heapwire_parallel of this statement; 0: the session's */
    union {
        struct admin_execute admin;
        struct span forward; /* the envelope */
        struct import import;
        struct budget_call budget;
        struct {
            struct span name, text;
        } prepare;
        struct show show;
        struct assignment *set; /* in the order of the statement */
        struct span use;        /* the database */
        struct {
            uint32_t id;
            bool query_only;
            /* the session's id; NULL: it is id */
            const struct tree *expression;
        } kill;
        struct {
            const char *operation;      /* "check" */
            struct named_table *tables; /* in the order of the statement */
        } maintain;
        struct {
            /* The whole SELECT, also of EXPLAIN; for DO, its expressions. */
            const struct tree *select;
            enum explain_format format;
        };
    };
};

#endif
