/* memory_left.c - see memory_left.h. */
#include "memory_left.h"

#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "process_memory.h"
#include "reader.h"

enum { MEMINFO_MAX = 64 << 10 };

uint64_t
memory_left_of(const char *meminfo, size_t size)
{
    static const char key[] = "MemAvailable:";
    const size_t key_size = sizeof(key) - 1;
    struct reader r = reader_of(meminfo, size);
    struct span line;
    uint64_t kb = 0;
    size_t at;

    while (reader_line(&r, &line)) {
        if (line.size <= key_size || memcmp(line.data, key, key_size) != 0)
            continue;
        at = key_size;
        while (at < line.size && line.data[at] == ' ')
            at++;
        for (; at < line.size && line.data[at] >= '0' && line.data[at] <= '9' &&
               kb < UINT64_MAX >> 20;
             at++)
            kb = kb * 10 + (uint64_t)(line.data[at] - '0');
        return kb << 10;
    }
    return UINT64_MAX;
}

static uint64_t
left_on_the_machine(void)
{
    struct buffer text;
    struct error err;
    uint64_t left = UINT64_MAX;

    buffer_init(&text, MEMINFO_MAX);
    if (file_read_all("/proc/meminfo", &text, &err) == 0)
        left = memory_left_of(text.data, text.size);
    buffer_fini(&text);
    return left;
}

static uint64_t
left_in_the_cgroup(void)
{
    struct stats own = {0};
    uint64_t used;

    process_memory_read(getpid(), &own);
    if (!own.cgroup_limit.known || !own.cgroup_current.known ||
        own.cgroup_limit.value == 0)
        return UINT64_MAX;
    used = own.cgroup_current.value;
    if (own.cgroup_cache.known && own.cgroup_cache.value <= used)
        used -= own.cgroup_cache.value;
    return own.cgroup_limit.value > used ? own.cgroup_limit.value - used : 0;
}

uint64_t
memory_left(void)
{
    uint64_t machine = left_on_the_machine(), cgroup = left_in_the_cgroup();

    return machine < cgroup ? machine : cgroup;
}
