/*
 * prepared_text.c - the statements that PREPARE name FROM '...' keeps in a
 * session (sql_session.h).
 *
 * A session's texts are a list that only its own thread touches.  Their bytes
 * are counted over all sessions, because 32 texts of 64 KiB in each of
 * thousands of sessions would be gigabytes; the counter is an atomic since
 * sessions run on different threads.
 */
#include <stdatomic.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "sql_session.h"

static atomic_size_t kept; /* bytes of all sessions' texts */

static size_t
prepared_text_bytes(const struct prepared_text *prepared)
{
    return sizeof(*prepared) + prepared->size + 1;
}

/* Zeroed, except for its size; NULL with *err. */
static struct prepared_text *
text_new(size_t text, struct error *err)
{
    struct prepared_text *new = mem_zalloc(1, sizeof(*new) + text + 1);

    if (!new) {
        error_memory(err, "a prepared statement");
        return NULL;
    }
    new->size = text;
    /* Adds first and takes it back when that was too much: with a check before
     * the addition two threads could both pass the ceiling. */
    if (atomic_fetch_add(&kept, prepared_text_bytes(new)) +
            prepared_text_bytes(new) <=
        PREPARED_TEXTS_BYTES_MAX)
        return new;
    atomic_fetch_sub(&kept, prepared_text_bytes(new));
    mem_free(new);
    error_set(err, ER_TOO_MANY_PREPARED,
              "Can't prepare more than %d bytes of statements as SQL text in "
              "all sessions together; DEALLOCATE PREPARE some",
              PREPARED_TEXTS_BYTES_MAX);
    return NULL;
}

static void
text_free(struct prepared_text *prepared)
{
    atomic_fetch_sub(&kept, prepared_text_bytes(prepared));
    mem_free(prepared);
}

void
prepared_texts_free(struct prepared_text *list)
{
    while (list) {
        struct prepared_text *next = list->next;

        text_free(list);
        list = next;
    }
}

/* The link to the text of that name; it holds NULL if the name is unknown. */
static struct prepared_text **
find_prepared_text_link(struct sql_session *session, struct span name)
{
    struct prepared_text **at = &session->prepared;

    while (*at && !span_is_nocase(name, (*at)->name))
        at = &(*at)->next;
    return at;
}

static void
unlink_prepared_text(struct prepared_text **at)
{
    struct prepared_text *old = *at;

    if (!old)
        return;
    *at = old->next;
    text_free(old);
}

int
prepared_text_keep(struct sql_session *session, struct span name,
                   struct span text, struct error *err)
{
    struct prepared_text *new, **old = find_prepared_text_link(session, name);
    size_t count = 0;

    for (const struct prepared_text *p = session->prepared; p; p = p->next)
        count++;
    /* A text of the same name is replaced, so it does not count. */
    if (count - (*old != NULL) >= PREPARED_TEXTS_MAX ||
        text.size > PREPARED_TEXT_BYTES_MAX || name.size > SQL_NAME_MAX) {
        error_set(err, ER_TOO_MANY_PREPARED,
                  "Can't prepare more than %d statements of %d bytes each as "
                  "SQL text; DEALLOCATE PREPARE one",
                  PREPARED_TEXTS_MAX, PREPARED_TEXT_BYTES_MAX);
        return -1;
    }
    new = text_new(text.size, err);
    if (!new)
        return -1;
    memcpy(new->name, name.data, name.size);
    memcpy(new->text, text.data, text.size);
    /* Only now, when nothing can fail any more: a PREPARE that fails leaves
     * the earlier text in force. */
    unlink_prepared_text(old);
    new->next = session->prepared;
    session->prepared = new;
    return 0;
}

const struct prepared_text *
prepared_text_find(struct sql_session *session, struct span name)
{
    return *find_prepared_text_link(session, name);
}

bool
prepared_text_drop(struct sql_session *session, struct span name)
{
    struct prepared_text **at = find_prepared_text_link(session, name);
    bool found = *at != NULL;

    unlink_prepared_text(at);
    return found;
}

int
prepared_text_unknown(struct span name, const char *given_to, struct error *err)
{
    error_set(err, ER_UNKNOWN_STATEMENT,
              "Unknown prepared statement handler (%.*s) given to %s",
              span_shown(name), name.data, given_to);
    return -1;
}
