/*
 * budget_name.c - parses the sizes and the names of budgets, which users type.
 */
#include "budgets.h"

#include <string.h>

#include "errors.h"
#include "heap_threads.h"
#include "profile_root.h"

static uint64_t
unit_factor(char unit)
{
    static const char units[] = "KMGT";
    const char *at =
        memchr(units, (unsigned char)unit & 0xdf, sizeof(units) - 1);

    return at ? (uint64_t)1 << 10 * (at - units + 1) : 0;
}

/* K, M, G and T are powers of 1024, in either case. */
int
budget_limit_parse(struct span text, uint64_t *out, struct error *err)
{
    struct span digits = span_trim(text);
    uint64_t number = 0, factor = 0;
    bool good = true;

    if (digits.size > 0)
        factor = unit_factor(digits.data[digits.size - 1]);
    if (factor > 0)
        digits.size--;
    else
        factor = 1;
    for (size_t i = 0; good && i < digits.size; i++) {
        unsigned digit = (unsigned char)digits.data[i] - (unsigned)'0';

        /* no overflow: the limit is INT64_MAX before the factor, too */
        good = digit <= 9 && number <= (uint64_t)(INT64_MAX - digit) / 10;
        number = number * 10 + digit;
    }
    if (good && digits.size > 0 && number > 0 && number <= INT64_MAX / factor) {
        *out = number * factor;
        return 0;
    }
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%.*s' is no size: a budget is a number of bytes such as "
              "2147483648, 512M or '2G', or NULL to remove it",
              text.size < 64 ? (int)text.size : 64, text.data);
    return -1;
}

/* Whether text begins so; then it is what follows. */
static bool
skip_mark(struct span *text, const char *mark)
{
    size_t size = strlen(mark);

    if (text->size < size || memcmp(text->data, mark, size) != 0)
        return false;
    *text = (struct span){text->data + size, text->size - size};
    return true;
}

/* Refuses the name of a thread, as "worker-7": pools have '*' for each number,
 * so a budget of it would never be crossed. */
static int
check_pool_name(struct span name, struct error *err)
{
    char text[HEAP_THREAD_NAME_MAX + 1], pool[HEAP_THREAD_NAME_MAX + 1];

    if (name.size == 0 || name.size > HEAP_THREAD_NAME_MAX) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a pool's name has 1 to %d bytes, as those of Linux's "
                  "threads: SELECT DISTINCT pool FROM heapwire.heap_threads "
                  "has them",
                  HEAP_THREAD_NAME_MAX);
        return -1;
    }
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    heap_thread_pool(text, pool);
    if (strcmp(text, pool) == 0)
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "'%s' is a thread's name: a pool's has a * in the place of each "
              "number; write '" PROFILE_POOL "%s'",
              text, pool);
    return -1;
}

int
budget_check_name(struct span name, struct error *err)
{
    if (name.size == 0 || name.size > BUDGET_NAME_MAX) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "a budget is of a function's name of 1 to %d bytes, as "
                  "heap_functions has it, where a * at its end stands for any "
                  "ending; or of a pool of threads: '" PROFILE_POOL "worker-*'",
                  BUDGET_NAME_MAX);
        return -1;
    }
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] < ' ' || name.data[i] == 0x7f) {
            error_set(err, ER_WRONG_ARGUMENTS,
                      "the name of a budget has a control character at byte "
                      "%zu",
                      i + 1);
            return -1;
        }
    return skip_mark(&name, PROFILE_POOL) ? check_pool_name(name, err) : 0;
}

struct span
budget_plain_name(struct span name)
{
    skip_mark(&name, BUDGET_FUNCTION);
    return name;
}

bool
budget_names_kind(struct span name)
{
    return skip_mark(&name, BUDGET_FUNCTION) || skip_mark(&name, PROFILE_POOL);
}

bool
budget_may_be_pool(const struct budget *budget)
{
    return strlen(budget->name) <= HEAP_THREAD_NAME_MAX;
}

const char *
budget_pool(const struct budget *budget)
{
    const size_t size = strlen(PROFILE_POOL);

    return strncmp(budget->name, PROFILE_POOL, size) == 0 ? budget->name + size
                                                          : NULL;
}

bool
budget_matches(const struct budget *budget, const char *name)
{
    size_t size = strlen(budget->name);

    if (budget_pool(budget))
        return false;
    if (size > 0 && budget->name[size - 1] == '*' &&
        strncmp(budget->name, name, size - 1) == 0)
        return true;
    return strcmp(budget->name, name) == 0;
}
