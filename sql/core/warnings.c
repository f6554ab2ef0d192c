/* warnings.c - see warnings.h. */
#include "warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clean_text.h"
#include "errors.h"
#include "memory.h"
#include "sql_session.h"

void
warnings_clear(struct sql_session *session)
{
    struct warning *warning = session->warnings.first, *next;

    for (; warning; warning = next) {
        next = warning->next;
        mem_free(warning);
    }
    memset(&session->warnings, 0, sizeof(session->warnings));
}

static void
keep(struct warnings *all, uint16_t code, const char *text, size_t size)
{
    struct warning *warning = mem_zalloc(1, sizeof(*warning) + size + 1);

    if (!warning)
        return;
    warning->code = code;
    clean_text((struct span){text, size}, warning->text);
    *(all->last ? all->last : &all->first) = warning;
    all->last = &warning->next;
    all->kept++;
}

void
warnings_add(struct sql_session *session, uint16_t code, const char *format,
             ...)
{
    struct warnings *all = &session->warnings;
    char text[ERROR_TEXT_MAX];
    va_list arguments;

    if (all->old)
        warnings_clear(session);
    all->total++;
    if (all->kept == WARNINGS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    keep(all, code, text, strlen(text));
}

void
warnings_begin(struct sql_session *session)
{
    session->warnings.old = true;
}

void
warnings_drop_old(struct sql_session *session)
{
    if (session->warnings.old)
        warnings_clear(session);
}
