/* audit.c - see audit.h. */
#include "audit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "errors.h"
#include "log.h"
#include "memory.h"
#include "sql.h"

static void
skip(struct span *s, size_t size)
{
    if (size > s->size)
        size = s->size;
    s->data += size;
    s->size -= size;
}

static bool
starts(struct span s, const char *with)
{
    size_t size = strlen(with);

    return s.size >= size && strncasecmp(s.data, with, size) == 0;
}

/* Up to and with the end mark, or all. */
static void
skip_past(struct span *s, const char *end)
{
    const char *at =
        s->size ? memmem(s->data, s->size, end, strlen(end)) : NULL;

    skip(s, at ? (size_t)(at - s->data) + strlen(end) : s->size);
}

/* Blanks, comments, and the frame of a versioned comment, whose body counts:
 * nothing executed may hide from the log. */
static void
skip_idle(struct span *s)
{
    for (;;) {
        size_t before = s->size;

        while (s->size && (isspace((unsigned char)*s->data) ||
                           memchr(";(", *s->data, sizeof(";("))))
            skip(s, 1);
        if (starts(*s, "/*!") || starts(*s, "/*M!")) {
            skip(s, starts(*s, "/*!") ? 3 : 4);
            while (s->size && isdigit((unsigned char)*s->data))
                skip(s, 1);
        } else if (starts(*s, "/*")) {
            skip(s, 2);
            skip_past(s, "*/");
        } else if (starts(*s, "*/")) {
            skip(s, 2);
        } else if (starts(*s, "#") || starts(*s, "--")) {
            skip_past(s, "\n");
        }
        if (s->size == before)
            return;
    }
}

bool
audit_wants(struct span text)
{
    skip_idle(&text);
    if (!starts(text, "admin"))
        return false;
    skip(&text, strlen("admin"));
    skip_idle(&text);
    return starts(text, "execute");
}

void
audit_begin(struct audit *audit, struct span text)
{
    size_t size = text.size < AUDIT_TEXT_MAX ? text.size : AUDIT_TEXT_MAX;

    audit->text = NULL;
    if (!audit_wants(text))
        return;
    audit->text = mem_strndup(text.data, size);
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
