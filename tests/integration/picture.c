/*
 * picture.c - any form of a profile, with names from a file.
 *
 *     picture FORM BINARY PROFILE SYMBOLS [OPTION...]
 *
 * SYMBOLS: a line per address, tab separated: the address, then short name,
 * file:line and full name of each frame, the caller first.  pictures.sh makes a
 * copy of jeprof write it, and writes hostile ones by itself.
 *
 *     --allocator-frames, --all (nothing dropped), --bytes (whole ones),
 *     --files
 *     --live      as if the node had just been asked
 *     --signed    as if a difference: every third stack shrank
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"
#include "modules.h"
#include "names.h"
#include "profile.h"
#include "view.h"

enum { FIELDS_MAX = 1 + 3 * NAMES_INLINE_MAX, TAG = sizeof("<>") - 1 + 16 };

static const struct profile_origin just_now = {true, 1795274967000,
                                               1795228207000};

/* jeprof appends "<address>" to a name that it has from nm. */
static bool
has_tag(const char *name)
{
    size_t size = strlen(name);

    return size > TAG && name[size - 1] == '>' && name[size - TAG] == '<' &&
           strspn(name + size - TAG + 1, "0123456789abcdef") == 16;
}

static int
add_line(struct names *names, char *line)
{
    char *fields[FIELDS_MAX], *symbol = NULL;
    struct frame frames[NAMES_INLINE_MAX];
    uint64_t address, start = 0;
    uint32_t count = 0, field = 0;

    while (field < FIELDS_MAX && (fields[field] = strsep(&line, "\t")))
        field++;
    address = strtoull(fields[0], NULL, 16);
    for (uint32_t i = field; i >= 4; i -= 3) {
        char *full = fields[i - 1], *file = fields[i - 2];
        char *colon = strrchr(file, ':');

        if (has_tag(full)) {
            start = strtoull(full + strlen(full) - TAG + 1, NULL, 16);
            full[strlen(full) - TAG] = '\0';
            symbol = full;
        }
        if (colon)
            *colon = '\0';
        frames[count].function = strcmp(full, "??") == 0 ? fields[0] : full;
        frames[count].file = strcmp(file, "??") == 0 ? "" : file;
        frames[count++].line =
            colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
    }
    if (names_add(names, address, frames, count, false) != 0)
        return -1;
    return symbol ? names_set_symbol(names, address, symbol, start) : 0;
}

struct wants {
    struct view_options options;
    bool live, is_signed;
};

/* The test owns the profile: what it points to may be written. */
static void
make_signed(struct profile *profile)
{
    struct profile_stack *stacks = (struct profile_stack *)profile->stacks;

    profile->difference = true;
    profile->bytes = profile->objects = 0;
    for (size_t i = 0; i < profile->stack_count; i++) {
        if (i % 3 == 1) {
            stacks[i].bytes = -stacks[i].bytes;
            stacks[i].objects = -stacks[i].objects;
        }
        profile->bytes += stacks[i].bytes;
        profile->objects += stacks[i].objects;
    }
}

static int
show(char **argv, const struct wants *wants, struct error *err)
{
    const struct profile_origin *origin = wants->live ? &just_now : NULL;
    const struct view_form *form = view_form_find(argv[1]);
    struct names *names = names_new((size_t)1 << 30);
    struct heap_dump *dump = NULL;
    struct profile *profile = NULL;
    struct buffer text, symbols, out;
    char *rest, *line;
    int rc = -1;

    buffer_init(&text, (size_t)1 << 30);
    buffer_init(&symbols, (size_t)1 << 30);
    buffer_init(&out, (size_t)1 << 30);
    error_set(err, ER_UNKNOWN, "no such form, or no memory");
    if (!form || !names || file_read_all(argv[3], &text, err) != 0 ||
        file_read_all(argv[4], &symbols, err) != 0 ||
        !(dump = heap_dump_parse(text.data, text.size, err)))
        goto out;
    for (rest = symbols.data; (line = strsep(&rest, "\n"));)
        if (*line && add_line(names, line) != 0)
            goto out;
    profile = profile_new(dump, names, argv[2], origin, err);
    if (profile && wants->live)
        profile->memory = "allocated 34.1 MB, active 36.0 MB, resident 41.2 "
                          "MB, RSS 58.9 MB of a limit of 512.0 MB; the "
                          "profile explains 97.3% of allocated, jemalloc's "
                          "own metadata 4.1 MB, files and stacks 13.6 MB";
    if (profile && wants->is_signed)
        make_signed(profile);
    if (!profile || modules_fill(profile, &dump->maps, NULL, err) != 0 ||
        form->render(profile, &wants->options, &out, err) != 0)
        goto out;
    rc = fwrite(out.data, 1, out.size, stdout) == out.size ? 0 : -1;
out:
    profile_free(profile);
    heap_dump_free(dump);
    names_free(names);
    buffer_fini(&text);
    buffer_fini(&symbols);
    buffer_fini(&out);
    return rc;
}

int
main(int argc, char **argv)
{
    struct wants wants = {.options = view_defaults};
    struct error err = {0};

    if (argc < 5)
        return 2;
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "--allocator-frames") == 0)
            wants.options.allocator_frames = true;
        else if (strcmp(argv[i], "--bytes") == 0)
            wants.options.show_bytes = true;
        else if (strcmp(argv[i], "--files") == 0)
            wants.options.granularity = GRANULARITY_FILES;
        else if (strcmp(argv[i], "--live") == 0)
            wants.live = true;
        else if (strcmp(argv[i], "--signed") == 0)
            wants.is_signed = true;
        else if (strcmp(argv[i], "--all") == 0) {
            wants.options.nodecount = UINT32_MAX;
            wants.options.nodefraction = wants.options.edgefraction = 0;
        } else
            return 2;
    }
    if (show(argv, &wants, &err) != 0) {
        fprintf(stderr, "picture: %s\n", err.text);
        return 1;
    }
    return 0;
}
