/* audit.c - see audit.h. */
#include "audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "errors.h"
#include "lexer.h"
#include "log.h"
#include "memory.h"
#include "sql.h"

/* Where ADMIN EXECUTE begins, as the parser sees it: two readings would differ
 * in some comment, and what is executed may not hide.  NULL: it is another
 * statement. */
static const char *
find_statement(struct span text)
{
    struct lexer lexer = lexer_of(text);
    struct token first = lexer_next(&lexer), second;

    while (token_is_operator(&first, ";"))
        first = lexer_next(&lexer);
    second = lexer_next(&lexer);
    return token_is(&first, "ADMIN") && token_is(&second, "EXECUTE")
               ? first.text.data
               : NULL;
}

void
audit_begin(struct audit *audit, struct span text)
{
    const char *start = find_statement(text);
    size_t size;

    audit->text = NULL;
    if (!start)
        return;
    size = (size_t)(text.data + text.size - start);
    if (size > AUDIT_TEXT_MAX)
        size = AUDIT_TEXT_MAX;
    audit->text = mem_strndup(start, size);
    if (!audit->text)
        log_fault("out of memory: an ADMIN EXECUTE goes unrecorded");
    for (size_t i = 0; audit->text && i < size; i++)
        if (audit->text[i] == '\0')
            audit->text[i] = '?'; /* or it would hide the rest */
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
    log_line("'%s'@'%s' (connection %u): %s, rows %" PRIu64 ", ms %" PRIu64
             ", bytes %" PRIu64 ": %s",
             who->user, who->host, connection_id, result, outcome->rows,
             outcome->elapsed_ms, outcome->bytes, audit->text);
    audit_fini(audit);
}

void
audit_fini(struct audit *audit)
{
    mem_free(audit->text);
    audit->text = NULL;
}
