/*
 * picture.c - a picture of a profile whose names come from a file.
 *
 *     picture PROGRAM PROFILE NAMES [--live] [--signed] [--files] [--pdf]
 *
 * NAMES: a line per address, tab separated: the address in hexadecimal and
 * what its function and its file are both called, whatever that is.
 *
 *     --live      as if a node had just been asked
 *     --signed    as if a difference: every third stack shrank
 *     --files     of files
 *     --pdf       the call graph as PDF, not a flame graph
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "flamegraph.h"
#include "heap_dump.h"
#include "names.h"
#include "profile.h"
#include "view.h"

static const struct profile_origin just_now = {true, 1795274967000,
                                               1795228207000};

struct wants {
    struct view_options options;
    bool live, is_signed, pdf;
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
add_line(struct names *names, char *line)
{
    char *name = strchr(line, '\t');
    struct frame frame;

    if (!name)
        return -1;
    frame = (struct frame){name + 1, name + 1, 1};
    return names_add(names, strtoull(line, NULL, 16), &frame, 1, false);
}

static int
show(char **argv, const struct wants *wants, struct error *err)
{
    struct names *names = names_new((size_t)1 << 30);
    struct heap_dump *dump = NULL;
    struct profile *profile = NULL;
    struct buffer text, lines, out;
    char *rest, *line;
    int rc = -1;

    buffer_init(&text, (size_t)1 << 30);
    buffer_init(&lines, (size_t)1 << 30);
    buffer_init(&out, (size_t)1 << 30);
    error_set(err, ER_UNKNOWN, "a bad line of names");
    if (!names || file_read_all(argv[2], &text, err) != 0 ||
        file_read_all(argv[3], &lines, err) != 0 ||
        !(dump = heap_dump_parse(text.data, text.size, err)))
        goto out;
    for (rest = lines.data; (line = strsep(&rest, "\n"));)
        if (*line && add_line(names, line) != 0)
            goto out;
    profile =
        profile_new(dump, names, argv[1], wants->live ? &just_now : NULL, err);
    if (profile && wants->live)
        profile->memory = "allocated 34.1 MB, active 36.0 MB, resident 41.2 "
                          "MB, RSS 58.9 MB of a limit of 512.0 MB; the "
                          "profile explains 97.3% of allocated, jemalloc's "
                          "own metadata 4.1 MB, files and stacks 13.6 MB";
    if (profile && wants->is_signed)
        make_signed(profile);
    if (!profile || (wants->pdf ? graphviz_pdf : flamegraph_write)(
                        profile, &wants->options, &out, err) != 0)
        goto out;
    rc = fwrite(out.data, 1, out.size, stdout) == out.size ? 0 : -1;
out:
    profile_free(profile);
    heap_dump_free(dump);
    names_free(names);
    buffer_fini(&text);
    buffer_fini(&lines);
    buffer_fini(&out);
    return rc;
}

int
main(int argc, char **argv)
{
    struct wants wants = {.options = view_defaults};
    struct error err = {0};

    if (argc < 4)
        return 2;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--live") == 0)
            wants.live = true;
        else if (strcmp(argv[i], "--signed") == 0)
            wants.is_signed = true;
        else if (strcmp(argv[i], "--pdf") == 0)
            wants.pdf = true;
        else if (strcmp(argv[i], "--files") == 0)
            wants.options.granularity = GRANULARITY_FILES;
        else
            return 2;
    }
    if (show(argv, &wants, &err) != 0) {
        fprintf(stderr, "picture: %s\n", err.text);
        return 1;
    }
    return 0;
}
