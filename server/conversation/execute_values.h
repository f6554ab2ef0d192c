/*
 * execute_values.h - what the ? of a COM_STMT_EXECUTE stand for.
 *
 * Pure: bytes and a prepared statement in, values out.  What becomes of them:
 *   TINY, SHORT, YEAR, INT24, LONG, LONGLONG    VALUE_INT
 *   unsigned LONGLONG above INT64_MAX           VALUE_TEXT, its digits
 *   FLOAT, DOUBLE                               VALUE_DOUBLE
 *   DATE, TIME, DATETIME, TIMESTAMP             VALUE_TEXT, as temporal.h says
 *   DECIMAL, NEWDECIMAL                         VALUE_TEXT
 *   strings, blobs, JSON, ENUM, SET             VALUE_TEXT if it is UTF-8,
 *                                               or else VALUE_BLOB
 *   NULL, and whatever the bitmap says          VALUE_NULL
 * Clients send texts as blobs and the other way round (a Reader is a BLOB to
 * Connector/J), and MySQL compares them with each other: so the bytes decide.
 * BIT and GEOMETRY are refused, as is what MySQL does not name.
 */
#ifndef HW_EXECUTE_VALUES_H
#define HW_EXECUTE_VALUES_H

#include "reader.h"
#include "sql.h"

struct error;
struct prepared;

struct execute_values {
    struct sql_parameters sql; /* values borrow body and long data */
    void *block;               /* owned: the values, and texts of some */
};

/* body: the packet behind the iteration count.  Types are kept in prepared for
 * packets that leave them out.  -1 with *err (1835 or 1210): nothing to free.
 */
int execute_values_decode(struct prepared *prepared, struct span body,
                          struct execute_values *out, struct error *err);
void execute_values_fini(struct execute_values *values);

#endif
