/*
 * prof_flags.c - see prof_flags.h.
 *
 * Forms, measures and granularities come from the tables that SQL uses, too, so
 * the flags are put together at the start: one list for getopt_long and for the
 * help.  All other flags set one member of struct prof_command.
 */
#include "prof_flags.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "index_files.h"
#include "reader.h"
#include "view.h"

enum { FLAGS_MAX = 64, FORMS_MAX = 24, FLAG_FIRST = 256 };

/* What a flag sets. */
enum flag_kind {
    FLAG_FORM,
    FLAG_MEASURE,
    FLAG_GRANULARITY,
    FLAG_WRAPPER,
    /* A member of struct prof_command: */
    FLAG_TRUE,
    FLAG_TEXT,
    FLAG_COUNT,
    FLAG_FRACTION
};

struct flag {
    const char *name;
    const char *value; /* the name of its value; NULL: it has none */
    enum flag_kind kind;
    size_t which; /* index in the kind's table; or the member's offset */
    const char *help;
};

/* All flags, in four groups. */
struct flags {
    struct flag list[FLAGS_MAX];
    size_t forms, measures, granularities, count; /* the end of each group */
};

static int
print_flag_error(const char *text, const char *what)
{
    fprintf(stderr, "heapwire-prof: %s%s; see --help\n", text, what);
    return -1;
}

static int
parse_count_flag(const char *text, uint32_t *out)
{
    char *end;
    long n;

    errno = 0;
    /* strtol takes leading blanks and signs: the checks below refuse the
     * rest */
    n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < 0 || n > INT32_MAX)
        return print_flag_error("not a count: ", text);
    *out = (uint32_t)n;
    return 0;
}

static int
take_fraction(const char *text, double *out)
{
    char *end;
    double f = strtod(text, &end);

    if (end == text || *end || !(f >= 0 && f <= 1))
        return print_flag_error("not a fraction from 0 to 1: ", text);
    *out = f;
    return 0;
}

/* ---- what flags do ---- */

static int
take_form(struct prof_command *c, const struct view_form *form)
{
    /* the same form twice is fine: scripts add flags */
    if (c->form && c->form != form)
        return print_flag_error("one form at a time, not also --", form->name);
    c->form = form;
    return 0;
}

static int
take_wrapper(struct prof_command *c, const char *name)
{
    struct error err;

    if (wrappers_add(c->wrappers, name, &err) == 0)
        return 0;
    fprintf(stderr, "heapwire-prof: --allocator-frame %s: %s; see --help\n",
            name, err.text);
    return -1;
}

/* One case for each kind, not for each flag: most flags only set a member,
 * whose offset is in the table. */
static int
take_flag(struct prof_command *c, const struct flag *flag, const char *value)
{
    void *member = (char *)c + flag->which;

    switch (flag->kind) {
    case FLAG_FORM:
        return take_form(c, &view_forms[flag->which]);
    case FLAG_MEASURE:
        c->options.measure = (enum measure)flag->which;
        break;
    case FLAG_GRANULARITY:
        c->options.granularity = (enum granularity)flag->which;
        break;
    case FLAG_WRAPPER:
        return take_wrapper(c, value);
    case FLAG_TRUE:
        *(bool *)member = true;
        break;
    case FLAG_TEXT:
        *(const char **)member = value;
        break;
    case FLAG_COUNT:
        return parse_count_flag(value, member);
    case FLAG_FRACTION:
        return take_fraction(value, member);
    }
    return 0;
}

#define MEMBER(name) offsetof(struct prof_command, name)

static const struct flag own_flags[] = {
    {"base", "FILE", FLAG_TEXT, MEMBER(base),
     "show the difference from that profile"},
    {"force", NULL, FLAG_TRUE, MEMBER(force),
     "even if it is of another process, rate or reset"},
    {"focus", "REGEXP", FLAG_TEXT, MEMBER(options.focus),
     "only stacks with a matching frame"},
    {"ignore", "REGEXP", FLAG_TEXT, MEMBER(options.ignore),
     "only stacks without a matching frame"},
    {"nodecount", "N", FLAG_COUNT, MEMBER(options.nodecount),
     "at most N nodes, or lines of top [80]"},
    {"nodefraction", "F", FLAG_FRACTION, MEMBER(options.nodefraction),
     "no nodes of at most F*total [.005]"},
    {"edgefraction", "F", FLAG_FRACTION, MEMBER(options.edgefraction),
     "no edges of at most F*total [.001]"},
    {"maxdegree", "N", FLAG_COUNT, MEMBER(options.maxdegree),
     "at most N edges into, and out of, a node [8]"},
    {"show_bytes", NULL, FLAG_TRUE, MEMBER(options.show_bytes),
     "bytes in place of megabytes"},
    {"by-growth", NULL, FLAG_TRUE, MEMBER(options.by_growth),
     "mark changes within sampling noise with a ~"},
    {"by-thread", NULL, FLAG_TRUE, MEMBER(options.by_thread),
     "root stacks at the thread that allocated"},
    {"by-pool", NULL, FLAG_TRUE, MEMBER(options.by_pool),
     "root them at its pool: worker-12's is worker-*"},
    {"allocator-frames", NULL, FLAG_TRUE, MEMBER(options.allocator_frames),
     "keep the allocator's frames, as jeprof does"},
    {"allocator-frame", "NAME", FLAG_WRAPPER, 0,
     "count NAME, or NAME*, as the allocator's; may be repeated"},
    {"index", NULL, FLAG_TRUE, MEMBER(index),
     "make the symbol index of BINARY or of a library"},
    {"output", "FILE", FLAG_TEXT, MEMBER(output),
     "where to make it [BINARY" INDEX_FILE_SUFFIX "]"},
    {"symbols", "DIR", FLAG_TEXT, MEMBER(symbols),
     "look in DIR for indexes by build-id, or make one there"},
    {"help", NULL, FLAG_TRUE, MEMBER(help), "this text"},
    {"version", NULL, FLAG_TRUE, MEMBER(version), "the version"},
};

enum { OWN_COUNT = sizeof(own_flags) / sizeof(own_flags[0]) };

_Static_assert(MEASURE_COUNT + GRANULARITY_COUNT + OWN_COUNT + FORMS_MAX <
                   FLAGS_MAX,
               "room for every flag");

/* Forms, measures and granularities first, in the order of their tables, so
 * that the index is the value; then our own. */
static void
make_flags(struct flags *flags)
{
    size_t n = 0;

    assert(view_form_count <= FORMS_MAX);
    for (size_t i = 0; i < view_form_count; i++)
        flags->list[n++] =
            (struct flag){view_forms[i].name, NULL, FLAG_FORM, i, NULL};
    flags->forms = n;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        flags->list[n++] =
            (struct flag){measure_words[i], NULL, FLAG_MEASURE, i, NULL};
    flags->measures = n;
    for (size_t i = 0; i < GRANULARITY_COUNT; i++)
        flags->list[n++] = (struct flag){granularity_words[i], NULL,
                                         FLAG_GRANULARITY, i, NULL};
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
        /* getopt does not say which word was wrong; with ":" first it reports a
         * missing value by ':' and prints nothing itself */
        const char *word = optind < argc ? argv[optind] : "";

        /* The process has only one thread. */
        i = getopt_long(argc, argv, ":", options, NULL); // NOLINT
        if (i < 0)
            return 0;
        if (i == ':')
            return print_flag_error("a value is missing: ", word);
        if (i == '?')
            return text_starts_with(word, "--allocator-frames=")
                       ? print_flag_error(
                             "--allocator-frames keeps all of them, and "
                             "--allocator-frame=NAME leaves out another: "
                             "not ",
                             word)
                       : print_flag_error("unknown flag ", word);
        if (take_flag(out, &flags->list[i - FLAG_FIRST], optarg) != 0)
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
    /* such a form (raw) shows the profile as it is, so load_all shall not
     * re-root it */
    if (out->form && !out->form->takes_options)
        out->options.by_thread = out->options.by_pool = false;
    if (out->index && out->form)
        return print_flag_error("--index shows nothing: not also --",
                                out->form->name);
    if (out->index && out->base)
        return print_flag_error("--index shows nothing: not also --base", "");
    if (out->options.allocator_frames && *out->wrappers)
        return print_flag_error("--allocator-frames keeps them: not also "
                                "--allocator-frame",
                                "");
    if (out->output && out->symbols)
        return print_flag_error("either --output or --symbols", "");
    if (out->output && !out->index)
        return print_flag_error(
            "--output is for --index; a form goes to stdout", "");
    if (!out->form && !out->index)
        return print_flag_error("nothing to show: give --dot, --text, ...", "");
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
