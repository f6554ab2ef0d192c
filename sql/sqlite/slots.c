/* slots.c - see slots.h. */
#include "slots.h"

#include <string.h>

void
slot_clear(struct slot *slot)
{
    sqlite3_value_free(slot->low);
    sqlite3_value_free(slot->high);
    memset(slot, 0, sizeof(*slot));
}

void
slots_free(struct slots *slots)
{
    while (slots->used > 0)
        slot_clear(&slots->slots[--slots->used]);
}
