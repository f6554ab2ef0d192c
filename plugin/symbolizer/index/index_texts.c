/* index_texts.c - see index_texts.h. */
#include "index_texts.h"

#include <string.h>

#include "arena.h"
#include "code_chain.h"
#include "index_blocks.h"
#include "index_pack.h"
#include "memory.h"

/* Of one group, as it is unpacked. */
struct unpacked {
    char bytes[INDEX_PACK_MAX + INDEX_PACK_SPARE];
    uint32_t starts[INDEX_GROUP_ITEMS + 1];
};

bool
index_texts_begin(struct index_texts *texts, uint64_t items)
{
    index_texts_end(texts);
    texts->items = items;
    texts->wanted =
        mem_zalloc((size_t)(items / 64 + 1), sizeof(*texts->wanted));
    return texts->wanted;
}

void
index_texts_end(struct index_texts *texts)
{
    mem_free(texts->wanted);
    mem_free(texts->list);
    memset(texts, 0, sizeof(*texts));
}

/* Says how many are before which. */
static bool
seal(struct index_texts *texts)
{
    uint32_t count = 0;

    texts->wanted[0].bits &= ~(uint64_t)1; /* "" is known */
    for (uint64_t i = 0; i <= texts->items / 64; i++) {
        texts->wanted[i].before = count;
        count += (uint32_t)__builtin_popcountll(texts->wanted[i].bits);
    }
    texts->count = count;
    texts->list = mem_zalloc(count, sizeof(*texts->list));
    return texts->list;
}

/* Where in the list number is; it is wanted, and not "". */
static uint32_t
rank_of(const struct index_texts *texts, uint64_t number)
{
    const struct index_wanted *wanted = &texts->wanted[number / 64];
    uint64_t below = ((uint64_t)1 << number % 64) - 1;

    return wanted->before +
           (uint32_t)__builtin_popcountll(wanted->bits & below);
}

/* The first that is wanted of number and those behind it, up to end; end:
 * none.  What is behind end is not looked at: it may be far. */
static uint64_t
next_wanted(const struct index_texts *texts, uint64_t number, uint64_t end)
{
    uint64_t word = number / 64, bits, found;

    if (number >= end)
        return end;
    bits = texts->wanted[word].bits & UINT64_MAX << number % 64;
    while (bits == 0 && word < (end - 1) / 64)
        bits = texts->wanted[++word].bits;
    if (bits == 0)
        return end;
    found = word * 64 + (uint64_t)__builtin_ctzll(bits);
    return found < end ? found : end;
}

/* Unpacks up to the last text: sizes come first. */
static bool
unpack(const struct index_group *group, uint32_t last, struct unpacked *out)
{
    struct reader r = group->texts;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < group->items; i++) {
        uint64_t size = index_leb(&r);

        if (r.failed || size > INDEX_TEXT_MAX || size > INDEX_PACK_MAX - sum)
            return false;
        out->starts[i] = sum;
        sum += (uint32_t)size;
    }
    out->starts[group->items] = sum;
    return index_unpack(&r, out->bytes, sum, out->starts[last + 1]);
}

static uint64_t
last_wanted(const struct index_texts *texts, uint64_t number, uint64_t end)
{
    uint64_t next;

    while ((next = next_wanted(texts, number + 1, end)) < end)
        number = next;
    return number;
}

struct taker {
    int (*text)(void *arg, struct span text, bool file, uint32_t *number);
    void *arg;
    bool file;
};

/* The item-th text.  As index_texts_take. */
static int
take(struct unpacked *group, uint32_t item, struct index_text *out,
     struct arena *arena, const struct taker *taker)
{
    char *start = group->bytes + group->starts[item];
    char *end = group->bytes + group->starts[item + 1], next = *end;
    struct span text = {start, (size_t)(end - start)};
    int rc = 0;

    out->cold = code_is_cold(text);
    if (taker->text) {
        *end = '\0'; /* in place of the next one's first */
        rc = taker->text(taker->arg, text, taker->file, &out->number);
        *end = next;
    }
    if (out->number)
        text = (struct span){"#", 1};
    else
        text.data = arena_strndup(arena, start, text.size);
    if (!text.data)
        return -1;
    out->text = text;
    return rc;
}

int
index_texts_take(struct index_texts *texts, struct index_blocks *blocks,
                 enum index_section section, struct arena *arena,
                 int (*text)(void *arg, struct span text, bool file,
                             uint32_t *number),
                 void *arg)
{
    const struct taker taker = {text, arg, section == INDEX_FILES};
    uint64_t number = 0;
    struct unpacked group;

    if (!seal(texts))
        return -1;
    index_blocks_expect(blocks, section, texts->count);
    while ((number = next_wanted(texts, number, texts->items)) < texts->items) {
        const struct index_group *found =
            index_blocks_find(blocks, section, number);
        uint64_t last;
        int rc;

        if (!found) {
            number++;
            continue;
        }
        last = last_wanted(texts, number,
                           found->next < texts->items ? found->next
                                                      : texts->items);
        if (!unpack(found, (uint32_t)(last - found->first), &group)) {
            number = last + 1;
            continue;
        }
        for (; number <= last;
             number = next_wanted(texts, number + 1, last + 1)) {
            rc = take(&group, (uint32_t)(number - found->first),
                      &texts->list[rank_of(texts, number)], arena, &taker);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

bool
index_texts_get(const struct index_texts *texts, uint64_t number,
                struct index_text *text)
{
    *text = (struct index_text){{"", 0}, 0, false};
    if (number == 0)
        return true;
    *text = texts->list[rank_of(texts, number)];
    return text->text.data;
}
