/*
 * picture.c - any form of a profile, with names from a file.
 *
 *     picture FORM BINARY PROFILE SYMBOLS [--allocator-frames] [--live]
 *
 * SYMBOLS: a line per address, tab separated: the address, then short name,
 * file:line and full name of each frame, the caller first.  pictures.sh makes a
 * copy of jeprof write it, and writes hostile ones by itself.  --live: as if
 * the node had just been asked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"
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

static int
show(char **argv, const struct view_options *options,
     const struct profile_origin *origin, struct error *err)
{
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
    if (!profile || form->render(profile, options, &out, err) != 0)
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
    struct view_options options = view_defaults;
    const struct profile_origin *origin = NULL;
    struct error err = {0};

    if (argc < 5)
        return 2;
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "--allocator-frames") == 0)
            options.allocator_frames = true;
        else if (strcmp(argv[i], "--live") == 0)
            origin = &just_now;
        else
            return 2;
    }
    if (show(argv, &options, origin, &err) != 0) {
        fprintf(stderr, "picture: %s\n", err.text);
        return 1;
    }
    return 0;
}
