/*
 * jeprof_oracle.c - our reports from jeprof's own names.
 *
 *     jeprof_oracle RUNS DIRECTORY SYMBOLS BINARY PROFILE BASE
 *
 * RUNS and SYMBOLS are those of jeprof_runs.pl: a line per report (name, pair,
 * flags), to be written to DIRECTORY; and a line per address, tab separated:
 * the address, then short name, file:line and full name of each frame, the
 * caller first.  With equal names, reports must be equal, whatever our
 * symboliser says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "diff.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"
#include "names.h"
#include "prof_flags.h"
#include "profile.h"
#include "view.h"

enum {
    FIELDS_MAX = 1 + 3 * NAMES_INLINE_MAX,
    TAG = sizeof("<>") - 1 + 16,
    WORDS_MAX = 32
};

/* PROFILE, it less BASE, BASE less it; and BASE alone. */
static const char *const pair_words[] = {"none", "base", "swap", "only"};

enum { PAIRS = sizeof(pair_words) / sizeof(pair_words[0]) };

/* jeprof appends "<address>" to a name that it has from nm. */
static bool
has_tag(const char *name)
{
    size_t size = strlen(name);

    return size > TAG && name[size - 1] == '>' && name[size - TAG] == '<' &&
           strspn(name + size - TAG + 1, "0123456789abcdef") == 16;
}

/* "main.c:12" is cut in two. */
static void
take_place(char *place, struct frame *frame)
{
    char *colon = strrchr(place, ':');

    frame->file = "";
    frame->line = 0;
    if (!colon || strcmp(place, "??:0") == 0)
        return;
    *colon = '\0';
    frame->file = place;
    frame->line = (uint32_t)strtoul(colon + 1, NULL, 10);
}

static int
add_line(struct names *names, char *line)
{
    char *fields[FIELDS_MAX], *symbol = NULL, nameless[17];
    struct frame frames[NAMES_INLINE_MAX];
    uint64_t address, start = 0;
    uint32_t count = 0, field = 0;

    while (field < FIELDS_MAX && (fields[field] = strsep(&line, "\t")))
        field++;
    address = strtoull(fields[0], NULL, 16);
    snprintf(nameless, sizeof(nameless), "%016llx", (long long)address);
    for (uint32_t i = field; i >= 4; i -= 3) {
        char *full = fields[i - 1];

        if (has_tag(full)) {
            start = strtoull(full + strlen(full) - TAG + 1, NULL, 16);
            full[strlen(full) - TAG] = '\0';
            symbol = full;
        }
        frames[count++].function = strcmp(full, "??") == 0 ? nameless : full;
        take_place(fields[i - 2], &frames[count - 1]);
    }
    /* One module, so that differences tell places apart, as jeprof does. */
    if (names_add(names, address, frames, count, false) != 0 ||
        names_set_module(names, address, "all", address) != 0)
        return -1;
    return symbol ? names_set_symbol(names, address, symbol, start) : 0;
}

static char *
read_text(const char *path, struct buffer *text, struct error *err)
{
    buffer_init(text, (size_t)1 << 30);
    if (file_read_all(path, text, err) == 0)
        return text->data ? text->data : "";
    fprintf(stderr, "jeprof_oracle: %s\n", err->text);
    exit(1);
}

static struct names *
read_names(const char *path)
{
    struct names *names = names_new((size_t)1 << 30);
    struct buffer text;
    struct error err;
    char *rest = read_text(path, &text, &err), *line;

    while (names && (line = strsep(&rest, "\n")))
        if (*line && add_line(names, line) != 0)
            exit(1);
    buffer_fini(&text);
    return names;
}

static struct profile *
read_profile(const char *binary, const char *path, struct names *names)
{
    struct buffer text;
    struct error err = {0};
    struct heap_dump *dump;
    struct profile *profile;

    read_text(path, &text, &err);
    dump = heap_dump_parse(text.data, text.size, &err);
    profile = dump ? profile_new(dump, names, binary, NULL, &err) : NULL;
    if (!profile) {
        fprintf(stderr, "jeprof_oracle: %s: %s\n", path, err.text);
        exit(1);
    }
    heap_dump_free(dump);
    buffer_fini(&text);
    return profile;
}

static struct profile *
subtract(const struct profile *now, const struct profile *base)
{
    struct error err;
    struct profile *difference = diff_make(now, base, &err);

    if (difference)
        return difference;
    fprintf(stderr, "jeprof_oracle: %s\n", err.text);
    exit(1);
}

/* One line of RUNS. */
static int
run(char *line, const char *directory, const struct profile *const *pairs)
{
    char *words[WORDS_MAX] = {"jeprof_oracle", "--allocator-frames"};
    struct prof_command command;
    struct error err = {0};
    struct buffer out;
    char *name = strsep(&line, " "), *pair = strsep(&line, " "), path[4096];
    int count = 2, rc = -1, i;
    FILE *file;

    while (count < WORDS_MAX - 1 && (words[count] = strsep(&line, " ")))
        count++;
    for (i = 0; i < PAIRS && (!pair || strcmp(pair_words[i], pair) != 0);)
        i++;
    if (i == PAIRS || prof_flags_parse(count, words, &command) != 0)
        return -1;
    buffer_init(&out, (size_t)1 << 30);
    if (command.form->render(pairs[i], &command.options, &out, &err) != 0) {
        fprintf(stderr, "jeprof_oracle: %s: %s\n", name, err.text);
        goto out;
    }
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "w");
    if (file && fwrite(out.data, 1, out.size, file) == out.size)
        rc = 0;
    if (!file || fclose(file) != 0)
        rc = -1;
out:
    buffer_fini(&out);
    return rc;
}

int
main(int argc, char **argv)
{
    const struct profile *pairs[PAIRS];
    struct names *names;
    struct buffer text;
    struct error err;
    char *rest, *line;

    if (argc != 7)
        return 2;
    names = read_names(argv[3]);
    pairs[0] = read_profile(argv[4], argv[5], names);
    pairs[PAIRS - 1] = read_profile(argv[4], argv[6], names);
    pairs[1] = subtract(pairs[0], pairs[PAIRS - 1]);
    pairs[2] = subtract(pairs[PAIRS - 1], pairs[0]);
    names_free(names);
    rest = read_text(argv[1], &text, &err);
    while ((line = strsep(&rest, "\n")))
        if (*line && run(line, argv[2], pairs) != 0)
            return 1;
    buffer_fini(&text);
    for (int i = 0; i < PAIRS; i++)
        profile_free((struct profile *)pairs[i]);
    return 0;
}
