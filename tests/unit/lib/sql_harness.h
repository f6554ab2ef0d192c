/* sql_harness.h - a session without a server, and statements as texts. */
#ifndef HW_SQL_HARNESS_H
#define HW_SQL_HARNESS_H

#include <stdatomic.h>

#include "buffer.h"
#include "cursor.h"
#include "errors.h"
#include "peers.h"
#include "sql.h"

enum { HARNESS_SELF = 10001 };

struct harness {
    struct sql_node node;
    struct sql_peers alone; /* node's, unless a test gives it others */
    struct sql_session *session;
    atomic_uint wakes; /* calls of the waker */
    uint32_t killed;   /* by the last KILL; 0 */
    bool killed_query;
    struct buffer answer; /* of the last harness_run */
    struct error error;   /* likewise; code 0 */
    struct cursor *cursor;
    const struct value *parameters; /* of the next ones; NULL: text protocol */
    size_t parameter_count;
};

/* privileges of `admin`@`localhost`, connection 7. */
void harness_init(struct harness *h, uint32_t privileges);
void harness_fini(struct harness *h);

/* Opens; NULL with h->error. */
struct cursor *harness_open(struct harness *h, const char *text);
struct cursor *harness_open_span(struct harness *h, struct span text);
/* Steps until it is over or waits, appending rows. */
enum step harness_pull(struct harness *h);
void harness_add_rows(struct harness *h, const struct rows *rows);
void harness_close(struct harness *h);

/*
 * Opens, pulls, closes.  The answer: labels between bars, then a line per row;
 * "OK" without columns; "<code>/<state> <text>" for an error.  A NULL is \N, a
 * number has a # before it and a double a ~.
 */
const char *harness_run(struct harness *h, const char *text);

#endif
