/* plain.c - the corpus's C: static functions, inlined and not, some of names
 * that another unit has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int plain_entry(int n);

struct item {
    int key;
    char text[24];
};

static int
compare(const void *a, const void *b)
{
    const struct item *left = a, *right = b;

    return (left->key > right->key) - (left->key < right->key);
}

static inline int
mixed(int n)
{
    return (n ^ n >> 3) * 31;
}

static int
checked(int n)
{
    return n < 0 ? mixed(-n) : mixed(n);
}

__attribute__((noinline)) static struct item *
make(int count)
{
    struct item *items = calloc((size_t)count + 1, sizeof(*items));

    for (int i = 0; items && i < count; i++) {
        items[i].key = checked(i);
        snprintf(items[i].text, sizeof(items[i].text), "item %d", i);
    }
    return items;
}

static void
each(struct item *items, int count, void (*visit)(struct item *, void *),
     void *arg)
{
    for (int i = 0; i < count; i++)
        visit(&items[i], arg);
}

static void
add(struct item *item, void *arg)
{
    *(int *)arg += item->key + (int)strlen(item->text);
}

__attribute__((noinline)) static int
tail(int n)
{
    switch (n) {
    case 0:
        return 4;
    case 1:
        return (int)strtol("12", NULL, 10);
    case 2:
        return mixed(7) + rand();
    case 3:
        puts("three");
        return 9;
    default:
        return n < 100 ? tail(n - 4) : -1;
    }
}

int
plain_entry(int n)
{
    struct item *items = make(n * 3);
    int total = 0;

    if (!items)
        return -1;
    qsort(items, (size_t)n * 3, sizeof(*items), compare);
    each(items, n * 3, add, &total);
    free(items);
    return total + tail(n);
}
