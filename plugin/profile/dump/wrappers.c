/* wrappers.c - see wrappers.h. */
#include "wrappers.h"

#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "function_name.h"
#include "names.h"

/* Takes the next name off *list, with its comma. */
static struct span
next(const char **list)
{
    struct span name = {*list, strcspn(*list, ",")};

    *list += name.size;
    if (**list)
        ++*list;
    return name;
}

static unsigned
count(const char *list)
{
    unsigned n = 0;

    while (*list) {
        next(&list);
        n++;
    }
    return n;
}

/* Printable; a '*' only at the end, and not alone. */
static bool
is_allowed(struct span name)
{
    const char *star = memchr(name.data, '*', name.size);

    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] < ' ' || name.data[i] == 0x7f)
            return false;
    return name.size > 0 &&
           (!star || (name.size > 1 && star == name.data + name.size - 1));
}

int
wrappers_add(char *list, const char *value, struct error *err)
{
    char all[WRAPPERS_TEXT_BYTES];
    size_t size = strlen(list);

    memcpy(all, list, size);
    while (*value) {
        struct span name = span_trim(next(&value));

        if (!is_allowed(name)) {
            error_set(err, ER_WRONG_VALUE,
                      "must be names of functions, separated by commas; a "
                      "name may end in *, but not be * alone");
            return -1;
        }
        if (size + name.size + 2 > sizeof(all)) {
            error_set(err, ER_WRONG_VALUE, "must be at most %d bytes",
                      WRAPPERS_TEXT_BYTES - 1);
            return -1;
        }
        if (size > 0)
            all[size++] = ',';
        memcpy(all + size, name.data, name.size);
        size += name.size;
    }
    all[size] = '\0';
    if (count(all) > WRAPPERS_MAX) {
        error_set(err, ER_WRONG_VALUE, "must be at most %d names",
                  WRAPPERS_MAX);
        return -1;
    }
    memcpy(list, all, size + 1);
    return 0;
}

/* Without compilers' suffixes: "f.part.0", "f [clone .cold]". */
static struct span
without_suffix(struct span name)
{
    const char *clone = memmem(name.data, name.size, " [clone ", 8);
    const char *dot = memchr(name.data, '.', name.size);

    if (clone)
        name.size = (size_t)(clone - name.data);
    else if (dot && dot > name.data)
        name.size = (size_t)(dot - name.data);
    return name;
}

static bool
is_in(const char *list, struct span name)
{
    while (*list) {
        struct span one = next(&list);
        bool begins = one.data[one.size - 1] == '*';

        one.size -= begins;
        if ((begins ? name.size >= one.size : name.size == one.size) &&
            memcmp(name.data, one.data, one.size) == 0)
            return true;
    }
    return false;
}

bool
wrappers_have(const char *list, struct span name, struct buffer *scratch)
{
    if (!list || !*list)
        return false;
    buffer_clear(scratch);
    function_name_shorten(name, scratch);
    if (scratch->failed || scratch->size == 0)
        return false;
    name = (struct span){scratch->data, scratch->size};
    return is_in(list, name) || is_in(list, without_suffix(name));
}

uint16_t
wrappers_count(const char *list, const struct location *location,
               struct buffer *scratch)
{
    uint32_t count = location->frame_count;

    while (count > location->wrapped) {
        const char *name = location->frames[count - 1].function;

        if (wrappers_have(list, (struct span){name, strlen(name)}, scratch))
            break;
        count--;
    }
    return (uint16_t)count;
}
