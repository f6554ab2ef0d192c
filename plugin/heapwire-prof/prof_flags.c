/* prof_flags.c - see prof_flags.h. */
#include "prof_flags.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "index_files.h"
#include "view.h"

enum { FLAGS_MAX = 64, FORMS_MAX = 24, FLAG_FIRST = 256 };

struct flag {
    const char *name;
    const char *value; /* the name of its value; NULL: it has none */
    int (*take)(struct prof_command *command, const char *value,
                unsigned which);
    const char *help;
    unsigned which; /* of its kind */
};

/* All flags, of four kinds. */
struct flags {
    struct flag list[FLAGS_MAX];
    size_t forms, measures, granularities, count; /* the end of each kind */
};

static int
bad_usage(const char *text, const char *what)
{
    fprintf(stderr, "heapwire-prof: %s%s; see --help\n", text, what);
    return -1;
}

static bool
begins(const char *word, const char *start)
{
    return strncmp(word, start, strlen(start)) == 0;
}

static int
take_count(const char *text, uint32_t *out)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < 0 || n > INT32_MAX)
        return bad_usage("not a count: ", text);
    *out = (uint32_t)n;
    return 0;
}

static int
take_fraction(const char *text, double *out)
{
    char *end;
    double f = strtod(text, &end);

    if (end == text || *end || !(f >= 0 && f <= 1))
        return bad_usage("not a fraction from 0 to 1: ", text);
    *out = f;
    return 0;
}

/* ---- what flags do ---- */

static int
take_form(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    if (c->form && c->form != &view_forms[which])
        return bad_usage("one form at a time, not also --",
                         view_forms[which].name);
    c->form = &view_forms[which];
    return 0;
}

static int
take_measure(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    c->options.measure = (enum measure)which;
    return 0;
}

static int
take_granularity(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    c->options.granularity = (enum granularity)which;
    return 0;
}

static int
take_base(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    c->base = value;
    return 0;
}

static int
take_force(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->force = true;
    return 0;
}

static int
take_focus(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    c->options.focus = value;
    return 0;
}

static int
take_ignore(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    c->options.ignore = value;
    return 0;
}

static int
take_nodecount(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    return take_count(value, &c->options.nodecount);
}

static int
take_nodefraction(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    return take_fraction(value, &c->options.nodefraction);
}

static int
take_edgefraction(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    return take_fraction(value, &c->options.edgefraction);
}

static int
take_maxdegree(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    return take_count(value, &c->options.maxdegree);
}

static int
take_show_bytes(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->options.show_bytes = true;
    return 0;
}

static int
take_by_growth(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->options.by_growth = true;
    return 0;
}

static int
take_allocator_frames(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->options.allocator_frames = true;
    return 0;
}

static int
take_allocator_frame(struct prof_command *c, const char *value, unsigned which)
{
    struct error err;

    (void)which;
    if (wrappers_add(c->wrappers, value, &err) == 0)
        return 0;
    fprintf(stderr, "heapwire-prof: --allocator-frame %s: %s; see --help\n",
            value, err.text);
    return -1;
}

static int
take_index(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->index = true;
    return 0;
}

static int
take_output(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    c->output = value;
    return 0;
}

static int
take_symbols(struct prof_command *c, const char *value, unsigned which)
{
    (void)which;
    c->symbols = value;
    return 0;
}

static int
take_help(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->help = true;
    return 0;
}

static int
take_version(struct prof_command *c, const char *value, unsigned which)
{
    (void)value;
    (void)which;
    c->version = true;
    return 0;
}

static const struct flag own_flags[] = {
    {"base", "FILE", take_base, "show the difference from that profile"},
    {"force", NULL, take_force,
     "even if it is of another process, rate or reset"},
    {"focus", "REGEXP", take_focus, "only stacks with a matching frame"},
    {"ignore", "REGEXP", take_ignore, "only stacks without a matching frame"},
    {"nodecount", "N", take_nodecount, "at most N nodes, or lines of top [80]"},
    {"nodefraction", "F", take_nodefraction,
     "no nodes of at most F*total [.005]"},
    {"edgefraction", "F", take_edgefraction,
     "no edges of at most F*total [.001]"},
    {"maxdegree", "N", take_maxdegree,
     "at most N edges into, and out of, a node [8]"},
    {"show_bytes", NULL, take_show_bytes, "bytes in place of megabytes"},
    {"by-growth", NULL, take_by_growth,
     "mark changes within sampling noise with a ~"},
    {"allocator-frames", NULL, take_allocator_frames,
     "keep the allocator's frames, as jeprof does"},
    {"allocator-frame", "NAME", take_allocator_frame,
     "count NAME, or NAME*, as the allocator's; may be repeated"},
    {"index", NULL, take_index,
     "make the symbol index of BINARY or of a library"},
    {"output", "FILE", take_output,
     "where to make it [BINARY" INDEX_FILE_SUFFIX "]"},
    {"symbols", "DIR", take_symbols,
     "look in DIR for indexes by build-id, or make one there"},
    {"help", NULL, take_help, "this text"},
    {"version", NULL, take_version, "the version"},
};

enum { OWN_COUNT = sizeof(own_flags) / sizeof(own_flags[0]) };

_Static_assert(MEASURE_COUNT + GRANULARITY_COUNT + OWN_COUNT + FORMS_MAX <
                   FLAGS_MAX,
               "room for every flag");

static void
make_flags(struct flags *flags)
{
    size_t n = 0;

    assert(view_form_count <= FORMS_MAX);
    for (unsigned i = 0; i < view_form_count; i++)
        flags->list[n++] =
            (struct flag){view_forms[i].name, NULL, take_form, NULL, i};
    flags->forms = n;
    for (unsigned i = 0; i < MEASURE_COUNT; i++)
        flags->list[n++] =
            (struct flag){measure_words[i], NULL, take_measure, NULL, i};
    flags->measures = n;
    for (unsigned i = 0; i < GRANULARITY_COUNT; i++)
        flags->list[n++] = (struct flag){granularity_words[i], NULL,
                                         take_granularity, NULL, i};
    flags->granularities = n;
    for (unsigned i = 0; i < OWN_COUNT; i++)
        flags->list[n++] = own_flags[i];
    flags->count = n;
}

static int
parse_flags(int argc, char **argv, const struct flags *flags,
            const struct option *options, struct prof_command *out)
{
    int i;

    optind = 1;
    opterr = 0;
    for (;;) {
        const char *word = optind < argc ? argv[optind] : "";

        /* The process has only one thread. */
        i = getopt_long(argc, argv, ":", options, NULL); // NOLINT
        if (i < 0)
            return 0;
        if (i == ':')
            return bad_usage("a value is missing: ", word);
        if (i == '?')
            return begins(word, "--allocator-frames=")
                       ? bad_usage("--allocator-frames keeps all of them, and "
                                   "--allocator-frame=NAME leaves out another: "
                                   "not ",
                                   word)
                       : bad_usage("unknown flag ", word);
        i -= FLAG_FIRST;
        if (flags->list[i].take(out, optarg, flags->list[i].which) != 0)
            return -1;
        if (out->help || out->version)
            return 0;
    }
}

int
prof_flags_parse(int argc, char **argv, struct prof_command *out)
{
    struct option options[FLAGS_MAX + 1] = {0};
    struct flags flags;

    memset(out, 0, sizeof(*out));
    out->options = view_defaults;
    out->options.wrappers = out->wrappers;
    make_flags(&flags);
    for (size_t i = 0; i < flags.count; i++)
        options[i] = (struct option){flags.list[i].name,
                                     flags.list[i].value ? required_argument
                                                         : no_argument,
                                     NULL, FLAG_FIRST + (int)i};
    if (parse_flags(argc, argv, &flags, options, out) != 0)
        return -1;
    out->arguments = argv + optind;
    out->argument_count = argc - optind;
    if (out->help || out->version)
        return 0;
    if (out->index && out->form)
        return bad_usage("--index shows nothing: not also --", out->form->name);
    if (out->index && out->base)
        return bad_usage("--index shows nothing: not also --base", "");
    if (out->options.allocator_frames && *out->wrappers)
        return bad_usage("--allocator-frames keeps them: not also "
                         "--allocator-frame",
                         "");
    if (out->output && out->symbols)
        return bad_usage("either --output or --symbols", "");
    if (out->output && !out->index)
        return bad_usage("--output is for --index; a form goes to stdout", "");
    if (!out->form && !out->index)
        return bad_usage("nothing to show: say --dot, --text, ...", "");
    return 0;
}

static void
print_kind(const char *title, const struct flags *flags, size_t from, size_t to)
{
    printf("\n%s\n ", title);
    for (size_t i = from; i < to; i++)
        printf(" --%s", flags->list[i].name);
    putchar('\n');
}

void
prof_flags_usage(void)
{
    struct flags flags;
    char word[64];

    make_flags(&flags);
    puts("Usage: heapwire-prof --FORM [flags] BINARY PROFILE\n"
         "       heapwire-prof --FORM [flags] SNAPSHOT\n"
         "       heapwire-prof --index [--output=FILE | --symbols=DIR] BINARY\n"
         "Shows which functions hold memory, in a jemalloc heap profile "
         "(heap_v2) of "
         "the program\nBINARY, or in a snapshot that heapwire exported.");
    print_kind("What to write to stdout:", &flags, 0, flags.forms);
    print_kind("What to count [inuse_space]:", &flags, flags.forms,
               flags.measures);
    print_kind("Of what [functions]:", &flags, flags.measures,
               flags.granularities);
    putchar('\n');
    for (size_t i = flags.granularities; i < flags.count; i++) {
        const struct flag *f = &flags.list[i];

        snprintf(word, sizeof(word), "--%s%s%s", f->name, f->value ? "=" : "",
                 f->value ? f->value : "");
        printf("  %-19s %s\n", word, f->help);
    }
}
