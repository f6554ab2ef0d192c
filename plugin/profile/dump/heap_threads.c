/* heap_threads.c - see heap_threads.h. */
#include "heap_threads.h"

#include <ctype.h>

void
heap_thread_pool(const char *name, char out[HEAP_THREAD_NAME_MAX + 1])
{
    size_t size = 0;

    while (*name && size < HEAP_THREAD_NAME_MAX) {
        const char *end = name;

        while (isdigit((unsigned char)*end))
            end++;
        if (end > name && !isalpha((unsigned char)*end)) {
            out[size++] = '*';
            name = end;
            continue;
        }
        do /* a number that belongs to a word, or another character */
            out[size++] = *name++;
        while (name < end && size < HEAP_THREAD_NAME_MAX);
    }
    out[size] = '\0';
}

static const struct {
    uint32_t from_s;
    const char *name;
} ages[HEAP_AGE_CLASSES] = {
    {0, "under 1 s"},           {1, "1 s to 10 s"},
    {10, "10 s to 1 min"},      {60, "1 min to 10 min"},
    {600, "10 min to 1 h"},     {3600, "1 h to 6 h"},
    {6 * 3600, "6 h to 1 day"}, {24 * 3600, "over 1 day"},
};

uint32_t
heap_age_of(uint64_t age_ms)
{
    uint32_t age = 0;

    while (age + 1 < HEAP_AGE_CLASSES && age_ms / 1000 >= ages[age + 1].from_s)
        age++;
    return age;
}

const char *
heap_age_name(uint32_t age)
{
    return ages[age].name;
}

uint32_t
heap_age_from_s(uint32_t age)
{
    return ages[age].from_s;
}
