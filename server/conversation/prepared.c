/*
 * prepared.c - see prepared.h.
 *
 * Statements are found by id in an array: the low eight bits are the slot, the
 * upper ones count what was made, so an id that was closed is not mistaken for
 * the one that has its slot now.  Memory is counted against the session's
 * ceiling and the account of all clients before it is taken.
 */
#include "prepared.h"

#include <string.h>

#include "memory.h"

/* so that no id is 0xffffffff, which MariaDB's clients use for "the last one"
 */
enum { SLOT_BITS = 8, MADE_MAX = 0xfffffe };

_Static_assert(PREPARED_MAX == 1 << SLOT_BITS, "an id ends in its slot");

static bool
reserve_prepared_bytes(struct prepared_list *list, size_t size)
{
    if (size > PREPARED_BYTES_MAX - list->bytes ||
        !memory_reserve(&list->reserved, list->owner, list->bytes + size))
        return false;
    list->bytes += size;
    return true;
}

static void
give_bytes(struct prepared_list *list, size_t size)
{
    list->bytes -= size;
    memory_reserve(&list->reserved, list->owner, list->bytes);
}

static size_t
own_bytes(size_t text_size, size_t parameter_count)
{
    return text_size + parameter_count * sizeof(uint16_t);
}

static size_t
free_slot(const struct prepared_list *list)
{
    size_t slot = 0;

    while (list->slots[slot])
        slot++;
    return slot;
}

static uint32_t
next_id(struct prepared_list *list, size_t slot)
{
    list->made = list->made < MADE_MAX ? list->made + 1 : 1;
    return list->made << SLOT_BITS | (uint32_t)slot;
}

struct prepared *
prepared_new(struct prepared_list **home, const char *owner, struct span text,
             size_t parameter_count, struct error *err)
{
    struct prepared_list *list = *home;
    struct prepared *p = NULL;
    size_t slot;

    if (!list)
        list = *home = mem_zalloc(1, sizeof(*list));
    if (!list) {
        error_memory(err, "prepared statements");
        return NULL;
    }
    list->owner = owner;
    if (list->count == PREPARED_MAX) {
        error_set(err, ER_TOO_MANY_PREPARED,
                  "Can't create more than %d prepared statements in a "
                  "connection: close some",
                  PREPARED_MAX);
        return NULL;
    }
    if (!reserve_prepared_bytes(list, own_bytes(text.size, parameter_count))) {
        error_set(err, ER_TOO_MANY_PREPARED,
                  "Can't keep more than %d bytes of prepared statements in a "
                  "connection, nor more than a user's part of the %d MB of all "
                  "clients: close some",
                  PREPARED_BYTES_MAX, MEMORY_BUDGET_BYTES >> 20);
        return NULL;
    }
    p = mem_zalloc(1, sizeof(*p));
    if (p) {
        p->text = mem_strndup(text.data, text.size);
        /* One more, so that there is never a block of no bytes. */
        p->types = mem_zalloc(parameter_count + 1, sizeof(*p->types));
    }
    if (!p || !p->text || !p->types) {
        error_memory(err, "a prepared statement");
        give_bytes(list, own_bytes(text.size, parameter_count));
        if (p) {
            mem_free(p->text);
            mem_free(p->types);
        }
        mem_free(p);
        return NULL;
    }
    slot = free_slot(list);
    list->slots[slot] = p;
    list->count++;
    p->list = list;
    p->id = next_id(list, slot);
    p->text_size = text.size;
    p->parameter_count = parameter_count;
    return p;
}

struct prepared *
prepared_find(struct prepared_list *list, uint32_t id, const char *command,
              struct error *err)
{
    struct prepared *p = list ? list->slots[id % PREPARED_MAX] : NULL;

    if (p && p->id == id)
        return p;
    error_set(err, ER_UNKNOWN_STATEMENT,
              "Unknown prepared statement handler (%u) given to %s", id,
              command);
    return NULL;
}

static enum error_code
make_long_data(struct prepared *p)
{
    size_t size = p->parameter_count * sizeof(*p->long_data);

    if (p->long_data)
        return 0;
    if (!reserve_prepared_bytes(p->list, size))
        return ER_PACKET_TOO_LARGE;
    p->long_data = mem_zalloc(p->parameter_count, sizeof(*p->long_data));
    if (!p->long_data) {
        give_bytes(p->list, size);
        return ER_OUT_OF_MEMORY;
    }
    /* buffer_init only sets a ceiling; memory comes with the data. */
    for (size_t i = 0; i < p->parameter_count; i++)
        buffer_init(&p->long_data[i].bytes, PREPARED_BYTES_MAX);
    return 0;
}

static enum error_code
add_long(struct prepared *p, uint16_t parameter, struct span data)
{
    enum error_code fault;
    struct long_data *to;

    if (parameter >= p->parameter_count)
        return ER_WRONG_ARGUMENTS;
    fault = make_long_data(p);
    if (fault)
        return fault;
    if (!reserve_prepared_bytes(p->list, data.size))
        return ER_PACKET_TOO_LARGE;
    to = &p->long_data[parameter];
    buffer_add(&to->bytes, data.data, data.size);
    if (to->bytes.failed) {
        give_bytes(p->list, data.size);
        return ER_OUT_OF_MEMORY;
    }
    to->given = true;
    return 0;
}

void
prepared_add_long(struct prepared *p, uint16_t parameter, struct span data)
{
    enum error_code fault = p->fault ? p->fault : add_long(p, parameter, data);

    if (!fault)
        return;
    /* What came so far is useless without the rest. */
    prepared_drop_long(p);
    p->fault = fault;
}

int
prepared_check_long(const struct prepared *p, struct error *err)
{
    if (!p->fault)
        return 0;
    if (p->fault == ER_WRONG_ARGUMENTS)
        error_set(err, p->fault,
                  "Incorrect arguments to COM_STMT_SEND_LONG_DATA: the "
                  "statement has %zu parameters, and data came for another",
                  p->parameter_count);
    else if (p->fault == ER_PACKET_TOO_LARGE)
        error_set(err, p->fault,
                  "Parameters sent by COM_STMT_SEND_LONG_DATA are too long: "
                  "prepared statements of a connection may take %d bytes, and "
                  "those of a user its part of the %d MB of all clients",
                  PREPARED_BYTES_MAX, MEMORY_BUDGET_BYTES >> 20);
    else
        error_memory(err, "parameters sent by COM_STMT_SEND_LONG_DATA");
    return -1;
}

void
prepared_drop_long(struct prepared *p)
{
    for (size_t i = 0; p->long_data && i < p->parameter_count; i++) {
        give_bytes(p->list, p->long_data[i].bytes.size);
        buffer_fini(&p->long_data[i].bytes);
    }
    if (p->long_data)
        give_bytes(p->list, p->parameter_count * sizeof(*p->long_data));
    mem_free(p->long_data);
    p->long_data = NULL;
    p->fault = 0;
}

void
prepared_free(struct prepared *p)
{
    struct prepared_list *list;

    if (!p)
        return;
    list = p->list;
    prepared_drop_long(p);
    list->slots[p->id % PREPARED_MAX] = NULL;
    list->count--;
    give_bytes(list, own_bytes(p->text_size, p->parameter_count));
    mem_free(p->text);
    mem_free(p->types);
    mem_free(p);
}

void
prepared_list_free(struct prepared_list *list)
{
    for (size_t i = 0; list && i < PREPARED_MAX; i++)
        prepared_free(list->slots[i]);
    mem_free(list);
}
