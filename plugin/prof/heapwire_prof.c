/*
 * heapwire_prof.c - heapwire-prof: a heap profile in a file, as a graph.
 *
 * The offline twin of the node's statements, with jeprof's flags.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "dot.h"
#include "errors.h"
#include "files.h"
#include "graph.h"
#include "heap_dump.h"
#include "names.h"
#include "profile.h"
#include "symbolizer.h"
#include "view_options.h"

enum { EXIT_USAGE = 2, PATH_BYTES = 4096 };

static const size_t profile_bytes_max = (size_t)1 << 30;
static const size_t output_bytes_max = (size_t)256 << 20;

enum flag {
    FLAG_DOT = 1,
    FLAG_ALLOCATOR_FRAMES,
    FLAG_NODECOUNT,
    FLAG_NODEFRACTION,
    FLAG_EDGEFRACTION,
    FLAG_MAXDEGREE,
    FLAG_HELP,
    FLAG_VERSION
};

static const struct option flags[] = {
    {"dot", no_argument, NULL, FLAG_DOT},
    {"allocator-frames", no_argument, NULL, FLAG_ALLOCATOR_FRAMES},
    {"nodecount", required_argument, NULL, FLAG_NODECOUNT},
    {"nodefraction", required_argument, NULL, FLAG_NODEFRACTION},
    {"edgefraction", required_argument, NULL, FLAG_EDGEFRACTION},
    {"maxdegree", required_argument, NULL, FLAG_MAXDEGREE},
    {"help", no_argument, NULL, FLAG_HELP},
    {"version", no_argument, NULL, FLAG_VERSION},
    {NULL, 0, NULL, 0}};

static const char usage[] =
    "Usage: heapwire-prof --dot [options] BINARY PROFILE\n"
    "Shows who holds the memory in a jemalloc heap profile (heap_v2).\n"
    "\n"
    "  --dot               a call graph, for graphviz, to stdout\n"
    "  --allocator-frames  keep the allocator's own frames, as jeprof does\n"
    "  --nodecount=N       show at most N functions [80]\n"
    "  --nodefraction=F    hide functions of at most F*total bytes [.005]\n"
    "  --edgefraction=F    hide calls of at most F*total bytes [.001]\n"
    "  --maxdegree=N       at most N calls into, and out of, one [8]\n"
    "  --help              this text\n"
    "  --version           the version\n";

struct command {
    bool dot, done; /* done: answered already */
    struct view_options options;
    const char *binary, *profile;
};

static int
bad_usage(const char *text, const char *what)
{
    fprintf(stderr, "heapwire-prof: %s%s; the flags are", text, what);
    for (const struct option *f = flags; f->name; f++)
        fprintf(stderr, " --%s%s", f->name, f->has_arg ? "=" : "");
    fputs(", see --help\n", stderr);
    return -1;
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

static int
take_flag(struct command *command, int flag, const char *word)
{
    struct view_options *options = &command->options;

    switch (flag) {
    case FLAG_DOT:
        command->dot = true;
        return 0;
    case FLAG_ALLOCATOR_FRAMES:
        options->allocator_frames = true;
        return 0;
    case FLAG_NODECOUNT:
        return take_count(optarg, &options->nodecount);
    case FLAG_NODEFRACTION:
        return take_fraction(optarg, &options->nodefraction);
    case FLAG_EDGEFRACTION:
        return take_fraction(optarg, &options->edgefraction);
    case FLAG_MAXDEGREE:
        return take_count(optarg, &options->maxdegree);
    case FLAG_HELP:
        fputs(usage, stdout);
        command->done = true;
        return 0;
    case FLAG_VERSION:
        puts("heapwire-prof " HW_VERSION);
        command->done = true;
        return 0;
    case ':':
        return bad_usage("a value is missing: ", word);
    default:
        return bad_usage("unknown flag ", word);
    }
}

static int
parse_command(int argc, char **argv, struct command *command)
{
    int flag;

    command->options = view_defaults;
    opterr = 0;
    for (;;) {
        const char *word = optind < argc ? argv[optind] : "";

        /* One thread: nobody else parses arguments. */
        flag = getopt_long(argc, argv, ":", flags, NULL); // NOLINT
        if (flag < 0)
            break;
        if (take_flag(command, flag, word) != 0)
            return -1;
        if (command->done)
            return 0;
    }
    if (argc - optind != 2)
        return bad_usage("needs BINARY and PROFILE", "");
    if (!command->dot)
        return bad_usage("nothing to show: say --dot", "");
    command->binary = argv[optind];
    command->profile = argv[optind + 1];
    return 0;
}

/* Beside this program, where a build puts it, or in lib/heapwire, where an
 * installation does. */
static int
find_symbolizer(char *path, size_t size, struct error *err)
{
    static const char *const places[] = {"/", "/../lib/heapwire/"};
    char self[PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read /proc/self/exe");
        return -1;
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int length =
            snprintf(path, size, "%s%sheapwire-symbolizer", self, places[i]);

        if (length > 0 && (size_t)length < size && access(path, X_OK) == 0)
            return 0;
    }
    error_set(err, ER_UNKNOWN,
              "heapwire-symbolizer is neither in %s nor in %s/../lib/heapwire",
              self, self);
    return -1;
}

static struct names *
name_addresses(const struct heap_dump *dump, const char *binary,
               struct error *err)
{
    struct resolve_request request = {.maps = &dump->maps,
                                      .addresses = dump->addresses,
                                      .count = dump->address_count,
                                      .program = binary};
    char path[PATH_BYTES];
    struct symbolizer_options options = {.program = path};
    struct symbolizer *symbolizer = NULL;
    struct names *names = NULL;

    if (access(binary, R_OK) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read %s", binary);
        return NULL;
    }
    if (find_symbolizer(path, sizeof(path), err) != 0)
        return NULL;
    symbolizer = symbolizer_new(&options, err);
    if (symbolizer &&
        symbolizer_resolve(symbolizer, &request, &names, err) != 0)
        names = NULL;
    symbolizer_free(symbolizer);
    return names;
}

static void
warn(const struct heap_dump *dump, const struct names *names)
{
    if (dump->truncated)
        fputs("heapwire-prof: the profile was cut off\n", stderr);
    if (names_note(names)[0])
        fprintf(stderr, "heapwire-prof: %s\n", names_note(names));
}

static int
run(const struct command *command, struct error *err)
{
    struct heap_dump *dump = NULL;
    struct names *names = NULL;
    struct profile *profile = NULL;
    struct buffer text, out;
    int rc = -1;

    buffer_init(&text, profile_bytes_max);
    buffer_init(&out, output_bytes_max);
    if (file_read_all(command->profile, &text, err) != 0)
        goto out;
    dump = heap_dump_parse(text.data, text.size, err);
    if (!dump)
        goto out;
    names = name_addresses(dump, command->binary, err);
    if (!names)
        goto out;
    warn(dump, names);
    profile = profile_new(dump, names, command->binary, NULL, err);
    if (!profile || profile_dot(profile, &command->options, &out, err) != 0)
        goto out;
    if (fwrite(out.data, 1, out.size, stdout) != out.size ||
        fflush(stdout) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write the graph");
        goto out;
    }
    rc = 0;
out:
    profile_free(profile);
    names_free(names);
    heap_dump_free(dump);
    buffer_fini(&text);
    buffer_fini(&out);
    return rc;
}

int
main(int argc, char **argv)
{
    struct command command = {.binary = "", .profile = ""};
    struct error err = {0};

    if (parse_command(argc, argv, &command) != 0)
        return EXIT_USAGE;
    if (command.done)
        return EXIT_SUCCESS;
    if (run(&command, &err) != 0) {
        fprintf(stderr, "heapwire-prof: %s\n", err.text);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
