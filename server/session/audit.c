/*
 * audit.c - see audit.h.
 *
 * Records live in a ring of pointers, each block as large as its texts, since
 * most statements are short and the longest are long.  A record that is pushed
 * out is freed after the lock is given up.  The log has every record; the ring
 * is for heapwire.audit_log and is empty after a restart.
 */
#include "audit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "audit_text.h"
#include "clock.h"
#include "errors.h"
#include "lexer.h"
#include "log.h"
#include "memory.h"
#include "sql.h"

/* A finished record, only as large as needed: the text, then the names. */
struct entry {
    int64_t at_ms;
    uint64_t rows, bytes, elapsed_ms;
    uint32_t connection_id;
    uint16_t error;
    char texts[]; /* statement, user, host: each ends with its NUL */
};

static struct {
    pthread_mutex_t lock;
    struct entry *entries[SQL_AUDIT_ROWS_MAX];
    size_t next, count;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct entry *
entry_new(const struct audit *audit, const struct sql_identity *who)
{
    size_t text = strlen(audit->text) + 1, user = strlen(who->user) + 1;
    size_t host = strlen(who->host) + 1;
    struct entry *e = mem_zalloc(1, sizeof(*e) + text + user + host);

    if (!e)
        return NULL;
    memcpy(e->texts, audit->text, text);
    memcpy(e->texts + text, who->user, user);
    memcpy(e->texts + text + user, who->host, host);
    return e;
}

/* Without memory for an entry only the log has the record. */
static void
store_audit_entry(const struct audit *audit, const struct sql_identity *who,
                  uint32_t connection_id, const struct audit_outcome *outcome)
{
    struct entry *e = entry_new(audit, who), *old;

    if (!e)
        return;
    e->at_ms = clock_wall_ms();
    e->rows = outcome->rows;
    e->bytes = outcome->bytes;
    e->elapsed_ms = outcome->elapsed_ms;
    e->connection_id = connection_id;
    e->error = outcome->error ? outcome->error->code : 0;
    pthread_mutex_lock(&kept.lock);
    old = kept.entries[kept.next];
    kept.entries[kept.next] = e;
    kept.next = (kept.next + 1) % SQL_AUDIT_ROWS_MAX;
    kept.count += old == NULL;
    pthread_mutex_unlock(&kept.lock);
    mem_free(old);
}

static void
copy_audit_row(const struct entry *e, struct sql_audit_row *row)
{
    const char *user = e->texts + strlen(e->texts) + 1;
    const char *host = user + strlen(user) + 1;

    memset(row, 0, sizeof(*row));
    row->at_ms = e->at_ms;
    row->connection_id = e->connection_id;
    snprintf(row->user, sizeof(row->user), "%s", user);
    snprintf(row->host, sizeof(row->host), "%s", host);
    row->error = e->error;
    row->rows = e->rows;
    row->bytes = e->bytes;
    row->elapsed_ms = e->elapsed_ms;
    snprintf(row->text, sizeof(row->text), "%s", e->texts);
}

size_t
audit_list(struct sql_audit_row *out, size_t max)
{
    size_t n, at;

    pthread_mutex_lock(&kept.lock);
    for (n = 0; n < max && n < kept.count; n++) {
        at = (kept.next + SQL_AUDIT_ROWS_MAX - 1 - n) % SQL_AUDIT_ROWS_MAX;
        copy_audit_row(kept.entries[at], &out[n]);
    }
    pthread_mutex_unlock(&kept.lock);
    return n;
}

void
audit_clear(void)
{
    pthread_mutex_lock(&kept.lock);
    for (size_t i = 0; i < SQL_AUDIT_ROWS_MAX; i++) {
        mem_free(kept.entries[i]);
        kept.entries[i] = NULL;
    }
    kept.next = kept.count = 0;
    pthread_mutex_unlock(&kept.lock);
}

/* Reads with the parser's own lexer: another reading of comments could miss a
 * statement that is executed. */
static bool
is_audited(struct span text)
{
    struct lexer lexer = lexer_of(text);
    struct token first = lexer_next(&lexer), second;

    while (token_is_operator(&first, ";"))
        first = lexer_next(&lexer);
    /* SET STATEMENT name = number FOR statement */
    if (token_is(&first, "SET")) {
        while (first.kind != TOKEN_END && first.kind != TOKEN_INVALID &&
               !token_is(&first, "FOR"))
            first = lexer_next(&lexer);
        first = lexer_next(&lexer);
    }
    if (token_is(&first, "CALL")) /* CALL admin_execute(), or an error */
        return true;
    if (!token_is(&first, "ADMIN"))
        return false;
    second = lexer_next(&lexer);
    return token_is(&second, "EXECUTE");
}

void
audit_begin(struct audit *audit, struct span text,
            const struct sql_parameters *parameters,
            const struct sql_session *session)
{
    char shown[AUDIT_TEXT_MAX + 1];

    audit->text = NULL;
    if (!is_audited(text))
        return;
    audit_text_make(text, parameters, session, shown);
    audit->text = mem_strdup(shown);
    if (!audit->text)
        log_fault("out of memory: an ADMIN EXECUTE goes unrecorded: %s", shown);
}

void
audit_finish(struct audit *audit, const struct sql_identity *who,
             uint32_t connection_id, const struct audit_outcome *outcome)
{
    char result[32] = "ok";

    if (!audit->text)
        return;
    if (outcome->error)
        snprintf(result, sizeof(result), "error %u", outcome->error->code);
    log_line("'%s'@'%s' (connection %u%s): %s, rows %" PRIu64 ", ms %" PRIu64
             ", bytes %" PRIu64 ": %s",
             who->user, who->host, connection_id, outcome->web ? ", HTTP" : "",
             result, outcome->rows, outcome->elapsed_ms, outcome->bytes,
             audit->text);
    store_audit_entry(audit, who, connection_id, outcome);
    audit_fini(audit);
}

void
audit_fini(struct audit *audit)
{
    mem_free(audit->text);
    audit->text = NULL;
}
