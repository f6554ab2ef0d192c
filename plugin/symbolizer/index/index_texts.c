/*
 * index_texts.c - see index_texts.h.
 *
 * A profile wants ten thousand names out of millions.  Wanted numbers are bits,
 * with a count of the bits before each word: so the position of a text in the
 * list is found without a search, and the memory is 16 bytes for 64 texts of
 * the section.
 */
#include "index_texts.h"

#include <string.h>
#include <zstd.h>

#include "arena.h"
#include "index_blocks.h"
#include "index_column.h"
#include "memory.h"

/* The unpacked texts of one group. */
struct unpacked {
    ZSTD_DCtx *zstd;
    char bytes[INDEX_TEXTS_MAX + 1]; /* and a NUL */
    uint32_t starts[INDEX_GROUP_TEXTS + 1];
};

static size_t
wanted_word_count(const struct index_texts *texts)
{
    return (size_t)(texts->items / 64 + 1);
}

bool
index_texts_begin(struct index_texts *texts, unsigned uses, uint64_t items)
{
    index_texts_end(texts);
    texts->items = items;
    texts->uses = uses;
    for (unsigned i = 0; i < uses; i++) {
        texts->wanted[i] =
            mem_zalloc(wanted_word_count(texts), sizeof(**texts->wanted));
        if (!texts->wanted[i])
            return false;
    }
    return true;
}

void
index_texts_end(struct index_texts *texts)
{
    for (unsigned i = 0; i < INDEX_USES_MAX; i++)
        mem_free(texts->wanted[i]);
    mem_free(texts->list);
    memset(texts, 0, sizeof(*texts));
}

/* Ends the collecting: counts the wanted texts before each word, and makes room
 * for them. */
static bool
seal_wanted_texts(struct index_texts *texts)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < texts->uses; i++) {
        struct index_wanted *wanted = texts->wanted[i];

        wanted[0].bits &= ~(uint64_t)1; /* "" needs no look-up */
        for (size_t k = 0; k < wanted_word_count(texts); k++) {
            wanted[k].before = count;
            count += (uint32_t)__builtin_popcountll(wanted[k].bits);
        }
    }
    texts->count = count;
    texts->list = mem_zalloc(count, sizeof(*texts->list));
    return texts->list;
}

static bool
is_wanted_text(const struct index_texts *texts, unsigned use, uint64_t number)
{
    return texts->wanted[use][number / 64].bits >> number % 64 & 1;
}

/* The position in the list of a number that is wanted and not 0. */
static uint32_t
rank_of(const struct index_texts *texts, unsigned use, uint64_t number)
{
    const struct index_wanted *wanted = &texts->wanted[use][number / 64];
    uint64_t below = ((uint64_t)1 << number % 64) - 1;

    return wanted->before +
           (uint32_t)__builtin_popcountll(wanted->bits & below);
}

/* A word's numbers that are wanted for any use. */
static uint64_t
wanted_bits(const struct index_texts *texts, uint64_t word)
{
    uint64_t bits = texts->wanted[0][word].bits;

    return texts->uses > 1 ? bits | texts->wanted[1][word].bits : bits;
}

/* The first wanted number from number on, below end; end: none.  Does not look
 * further than end. */
static uint64_t
next_wanted(const struct index_texts *texts, uint64_t number, uint64_t end)
{
    uint64_t word = number / 64, bits, found;

    if (number >= end)
        return end;
    bits = wanted_bits(texts, word) & UINT64_MAX << number % 64;
    while (bits == 0 && word < (end - 1) / 64)
        bits = wanted_bits(texts, ++word);
    if (bits == 0)
        return end;
    found = word * 64 + (uint64_t)__builtin_ctzll(bits);
    return found < end ? found : end;
}

/* The texts' sizes come first. */
static bool
unpack_text_group(const struct index_group *group, struct unpacked *out)
{
    struct reader r = group->texts;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < group->items; i++) {
        uint64_t size = index_leb(&r);

        if (r.failed || size > INDEX_TEXT_MAX || size > INDEX_TEXTS_MAX - sum)
            return false;
        out->starts[i] = sum;
        sum += (uint32_t)size;
    }
    out->starts[group->items] = sum;
    return ZSTD_decompressDCtx(out->zstd, out->bytes, sum, r.pos,
                               (size_t)(r.end - r.pos)) == sum;
}

/* Takes a group's text for one use.  Returns as index_texts_take. */
static int
take_group_text(struct unpacked *group, uint32_t item,
                enum symbol_index_use use, struct index_text *out,
                struct arena *arena,
                const struct symbol_index_question *question)
{
    char *start = group->bytes + group->starts[item];
    char *end = group->bytes + group->starts[item + 1], next = *end;
    struct span text = {start, (size_t)(end - start)};
    int rc = 0;

    if (question->text) {
        *end = '\0'; /* the first byte of the next text, which is put back */
        rc = question->text(question->arg, text, use, &out->number);
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

static int
take_uses(struct index_texts *texts, uint64_t number, struct unpacked *group,
          uint32_t item, bool files, struct arena *arena,
          const struct symbol_index_question *question)
{
    int rc = 0;

    for (unsigned i = 0; i < texts->uses && rc == 0; i++)
        if (is_wanted_text(texts, i, number))
            rc = take_group_text(group, item,
                                 files    ? INDEX_USE_FILE
                                 : i == 0 ? INDEX_USE_FUNCTION
                                          : INDEX_USE_SYMBOL,
                                 &texts->list[rank_of(texts, i, number)], arena,
                                 question);
    return rc;
}

/* Goes through the wanted numbers in order, group by group.  A damaged group
 * costs its own texts only. */
int
index_texts_take(struct index_texts *texts, struct index_blocks *blocks,
                 enum index_section section, struct arena *arena,
                 const struct symbol_index_question *question)
{
    struct unpacked group;
    uint64_t number = 0, end;
    int rc = 0;

    group.zstd = ZSTD_createDCtx();
    if (!group.zstd || !seal_wanted_texts(texts)) {
        rc = -1;
        goto out;
    }
    index_blocks_expect(blocks, section, texts->count);
    while (rc == 0 &&
           (number = next_wanted(texts, number, texts->items)) < texts->items) {
        const struct index_group *found =
            index_blocks_find(blocks, section, number);

        if (!found) {
            number++;
            continue;
        }
        end = found->next < texts->items ? found->next : texts->items;
        if (!unpack_text_group(found, &group))
            number = end;
        for (; rc == 0 && number < end;
             number = next_wanted(texts, number + 1, end))
            rc = take_uses(texts, number, &group,
                           (uint32_t)(number - found->first),
                           section == INDEX_FILES, arena, question);
    }
out:
    ZSTD_freeDCtx(group.zstd);
    return rc;
}

bool
index_texts_get(const struct index_texts *texts, unsigned use, uint64_t number,
                struct index_text *text)
{
    *text = (struct index_text){{"", 0}, 0};
    if (number == 0)
        return true;
    *text = texts->list[rank_of(texts, use, number)];
    return text->text.data;
}
