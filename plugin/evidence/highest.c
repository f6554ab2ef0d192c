/* highest.c - see highest.h. */
#include "highest.h"

#include <stdbool.h>
#include <stdio.h>

#include "memory.h"
#include "store.h"

static struct highest_pin
pin_of(const char *name, const struct agent_hello *hello,
       const struct snapshot_memory *memory)
{
    struct highest_pin pin = {.pid = hello->pid,
                              .start_ticks = hello->start_ticks,
                              .rss = memory->rss.value};

    snprintf(pin.name, sizeof(pin.name), "%s", name);
    return pin;
}

/* Whether it is to be pinned; *dropped is then what need not be any more. */
static bool
rise(struct highest *highest, const struct highest_pin *pin,
     struct highest_pin *dropped)
{
    struct highest_pin *now = &highest->now;
    bool same = now->name[0] && now->pid == pin->pid &&
                now->start_ticks == pin->start_ticks;

    if (same && pin->rss < now->rss)
        return false;
    dropped->name[0] = '\0';
    if (same) {
        *dropped = *now;
    } else if (now->name[0]) {
        *dropped = highest->before;
        highest->before = *now;
    }
    *now = *pin;
    return true;
}

void
highest_adopt(struct highest *highest, struct store *store)
{
    struct store_entry *list = mem_zalloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = list ? store_list(store, list, STORE_COUNT_MAX) : 0;
    struct highest_pin pin, dropped;

    for (size_t i = 0; i < count; i++) {
        if (!list[i].pinned || (list[i].cause != SNAPSHOT_MARK &&
                                list[i].cause != SNAPSHOT_SCHEDULE))
            continue;
        pin = pin_of(list[i].name, &list[i].hello, &list[i].memory);
        rise(highest, &pin, &dropped);
    }
    mem_free(list);
}

/* First the new pin: whatever ends us between the two loses nothing. */
void
highest_note(struct highest *highest, struct store *store,
             const struct snapshot *snapshot)
{
    struct highest_pin pin =
        pin_of(snapshot->name, &snapshot->hello, &snapshot->memory);
    struct highest_pin dropped;
    struct highest before;

    if (highest->now.name[0] &&
        store_pin(store, highest->now.name, true, NULL) != 0)
        highest->now.name[0] = '\0'; /* a user deleted it */
    before = *highest;
    if (!rise(highest, &pin, &dropped))
        return;
    if (store_pin(store, pin.name, true, NULL) != 0)
        *highest = before;
    else if (dropped.name[0])
        store_pin(store, dropped.name, false, NULL);
}
