/* task_text.c - see task_text.h. */
#include "task_text.h"

#include <string.h>

#include "ascii.h"
#include "map_owners.h"

static struct span
next_field(struct reader *r)
{
    const uint8_t *from;

    reader_skip_blanks(r);
    from = r->pos;
    while (r->pos<r->end && * r->pos> ' ')
        r->pos++;
    return (struct span){(const char *)from, (size_t)(r->pos - from)};
}

/* "0x7ffc1234"; 0: it is none. */
static uint64_t
read_hex_field(struct span field)
{
    uint64_t value = 0;

    if (field.size < 3 || field.size > 18 || memcmp(field.data, "0x", 2) != 0)
        return 0;
    for (size_t i = 2; i < field.size; i++) {
        char c = field.data[i];

        if (is_digit(c))
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return 0;
    }
    return value;
}

/* /proc/<pid>/task/<tid>/syscall, see proc_pid_syscall(5): "number 6 arguments
 * sp pc", "running", or "-1 sp pc".  A pc of 0 would be no thread's. */
uint64_t
task_text_sp(struct span text)
{
    struct reader r = reader_of(text.data, text.size);
    struct span first = next_field(&r);
    /* "-1": it waits, but in no system call, so no arguments follow. */
    int skipped = span_is(first, "-1") ? 0 : 6;
    uint64_t sp;

    if (first.size == 0 || first.data[0] == 'r')
        return 0;
    while (skipped-- > 0)
        (void)next_field(&r);
    sp = read_hex_field(next_field(&r));
    return read_hex_field(next_field(&r)) != 0 ? sp : 0;
}

static int32_t
read_tid_field(struct span field)
{
    int32_t tid = 0;

    for (size_t i = 0; i < field.size; i++) {
        if (!is_digit(field.data[i]) || tid > INT32_MAX / 10 - 1)
            return 0;
        tid = tid * 10 + (field.data[i] - '0');
    }
    return tid;
}

size_t
task_text_parse(struct span text, struct map_thread *out, size_t max)
{
    struct reader r = reader_of(text.data, text.size);
    struct span line;
    size_t count = 0;

    while (count < max && reader_line(&r, &line)) {
        const char *tab = memchr(line.data, '\t', line.size);
        struct span name = {tab ? tab + 1 : "", 0};
        struct reader l =
            reader_of(line.data, tab ? (size_t)(tab - line.data) : line.size);
        struct map_thread *thread = &out[count];

        *thread = (struct map_thread){.tid = read_tid_field(next_field(&l))};
        if (thread->tid == 0)
            continue;
        if (tab)
            name.size = line.size - (size_t)(name.data - line.data);
        if (name.size > sizeof(thread->name) - 1)
            name.size = sizeof(thread->name) - 1;
        memcpy(thread->name, name.data, name.size);
        thread->sp = task_text_sp(reader_rest(&l));
        count++;
    }
    return count;
}
