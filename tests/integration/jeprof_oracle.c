/*
 * jeprof_oracle.c - our graph from jeprof's own names.
 *
 *     jeprof_oracle BINARY PROFILE SYMBOLS [--allocator-frames] [NAME=VALUE...]
 *
 * SYMBOLS is what jeprof.sh makes a copy of jeprof write: a line per address,
 * tab separated: the address, then short name, file:line and full name of each
 * frame, the caller first.  With equal names, graphs must be equal, whatever
 * our symboliser says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "dot.h"
#include "errors.h"
#include "files.h"
#include "graph.h"
#include "heap_dump.h"
#include "names.h"
#include "profile.h"
#include "view_options.h"

enum { FIELDS_MAX = 1 + 3 * NAMES_INLINE_MAX, TAG = sizeof("<>") - 1 + 16 };

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
        frames[count - 1].file = "";
        frames[count - 1].line = 0;
    }
    if (names_add(names, address, frames, count, false) != 0)
        return -1;
    return symbol ? names_set_symbol(names, address, symbol, start) : 0;
}

static void
set_option(struct view_options *options, const char *text)
{
    const char *value = strchr(text, '=');

    if (strcmp(text, "--allocator-frames") == 0)
        options->allocator_frames = true;
    else if (!value)
        exit(2);
    else if (strncmp(text, "--nodecount", value - text) == 0)
        options->nodecount = (uint32_t)strtoul(value + 1, NULL, 10);
    else if (strncmp(text, "--maxdegree", value - text) == 0)
        options->maxdegree = (uint32_t)strtoul(value + 1, NULL, 10);
    else if (strncmp(text, "--nodefraction", value - text) == 0)
        options->nodefraction = strtod(value + 1, NULL);
    else if (strncmp(text, "--edgefraction", value - text) == 0)
        options->edgefraction = strtod(value + 1, NULL);
    else
        exit(2);
}

int
main(int argc, char **argv)
{
    struct view_options options = view_defaults;
    struct buffer text, symbols, out;
    struct heap_dump *dump;
    struct profile *profile;
    struct names *names = names_new((size_t)1 << 30);
    struct error err = {0};
    char *rest, *line;

    if (argc < 4 || !names)
        return 2;
    for (int i = 4; i < argc; i++)
        set_option(&options, argv[i]);
    buffer_init(&text, (size_t)1 << 30);
    buffer_init(&symbols, (size_t)1 << 30);
    buffer_init(&out, (size_t)1 << 30);
    if (file_read_all(argv[2], &text, &err) != 0 ||
        file_read_all(argv[3], &symbols, &err) != 0 ||
        !(dump = heap_dump_parse(text.data, text.size, &err)))
        goto fail;
    for (rest = symbols.data; (line = strsep(&rest, "\n"));)
        if (*line && add_line(names, line) != 0)
            goto fail;
    if (!(profile = profile_new(dump, names, argv[1], NULL, &err)) ||
        profile_dot(profile, &options, &out, &err) != 0)
        goto fail;
    fwrite(out.data, 1, out.size, stdout);
    profile_free(profile);
    heap_dump_free(dump);
    names_free(names);
    buffer_fini(&text);
    buffer_fini(&symbols);
    buffer_fini(&out);
    return 0;
fail:
    fprintf(stderr, "jeprof_oracle: %s\n", err.text);
    return 1;
}
