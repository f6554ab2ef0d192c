/*
 * heapwire_prof.c - heapwire-prof: shows a heap profile in a file, in any form.
 *
 * The offline twin of the node's statements, with jeprof's flags.  It lives for
 * one answer in one thread, so it trades memory for time: a heap that grows by
 * 256 MB, no budget of decoding, and the symboliser (heapwire-symbolizer, a
 * process of its own here, too) starts while the profile is read.  Profiles and
 * snapshots are untrusted input all the same: they are read through the node's
 * bounded readers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "reader.h"
#include "buffer.h"
#include "clean_text.h"
#include "diff.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"
#include "index_files.h"
#include "large_heap.h"
#include "mappings.h"
#include "memory_budget.h"
#include "names.h"
#include "objects.h"
#include "prof_check.h"
#include "prof_flags.h"
#include "profile.h"
#include "profile_root.h"
#include "snapshot.h"
#include "snapshot_file.h"
#include "symbolizer.h"
#include "view.h"

enum {
    PROF_INPUT_HEAD = 64, /* bytes read first */
    PROF_INPUT_BYTES_MAX = 1 << 30
};

struct prof_input {
    const char *path;
    int fd;
    char head[PROF_INPUT_HEAD];
    size_t head_size; /* less than PROF_INPUT_HEAD: the input has no more */
    size_t given;     /* bytes passed to the dump's reader so far */
    bool pipe;        /* cannot be read again from the start */
    bool failed;      /* reading failed; *err already names the path */
};

/* A profile's file or pipe.  Its first bytes show the format; a raw profile is
 * parsed as it is read, and is never in memory as a whole.  Files are read, not
 * mapped: they may be cut meanwhile. */

/* Reads at a place of a file, or the next bytes of a pipe. */
static ssize_t
read_input_at(struct prof_input *input, char *to, size_t room, size_t at)
{
    ssize_t n;

    do {
        /* whether it is a pipe shows at the first read */
        n = input->pipe ? -1 : pread(input->fd, to, room, (off_t)at);
        if (n < 0 && (input->pipe || errno == ESPIPE)) {
            input->pipe = true;
            n = read(input->fd, to, room);
        }
    } while (n < 0 && errno == EINTR);
    return n;
}

static void
prof_input_close(struct prof_input *input)
{
    fd_close(input->fd);
    input->fd = -1;
}

/* Borrows path. */
static int
prof_input_open(struct prof_input *input, const char *path, struct error *err)
{
    ssize_t n = 1;

    memset(input, 0, sizeof(*input));
    input->path = path;
    input->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open %s", path);
        return -1;
    }
    while (n > 0 && input->head_size < sizeof(input->head)) {
        n = read_input_at(input, input->head + input->head_size,
                          sizeof(input->head) - input->head_size,
                          input->head_size);
        input->head_size += n > 0 ? (size_t)n : 0;
    }
    if (n >= 0)
        return 0;
    error_sys(err, ER_UNKNOWN, "cannot read %s", path);
    prof_input_close(input);
    return -1;
}

/* Appends the whole input to out.  Use either this or prof_input_dump, once: of
 * a pipe the first bytes are in head and cannot be read again. */
static int
prof_input_all(struct prof_input *input, struct buffer *out, struct error *err)
{
    if (input->pipe)
        buffer_add(out, input->head, input->head_size);
    return fd_read_all(input->fd, out, input->path, err);
}

/* heap_source.read: of a pipe, first the bytes that are in head already. */
static ssize_t
read_input_chunk(void *arg, char *to, size_t room, struct error *err)
{
    struct prof_input *input = arg;
    ssize_t n = (ssize_t)input->head_size;

    if (input->pipe && input->given == 0 && n > 0)
        memcpy(to, input->head, input->head_size);
    else
        n = read_input_at(input, to, room, input->given);
    /* until this call has succeeded */
    input->failed = true;
    if (n < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read %s", input->path);
        return -1;
    }
    input->given += (size_t)n;
    if (input->given > PROF_INPUT_BYTES_MAX) {
        error_set(err, ER_OUT_OF_MEMORY,
                  "%s is larger than the ceiling of %d bytes", input->path,
                  PROF_INPUT_BYTES_MAX);
        return -1;
    }
    input->failed = false;
    return n;
}

static struct heap_dump *
prof_input_dump(struct prof_input *input, struct error *err)
{
    const struct heap_source source = {read_input_chunk, input};

    return heap_dump_read(&source, err);
}

enum {
    EXIT_USAGE = 2,
    PATH_BYTES = 4096,
    UNUSED_MAX = 8 /* warnings shown for one profile */
};

static const size_t heap_bytes = (size_t)256 << 20; /* the heap grows by this
                                                     * much */
static const size_t output_bytes_max = (size_t)256 << 20;

/* heapwire-symbolizer lies beside this program in a build, and in lib/heapwire
 * once installed.  By /proc/self/exe, as argv[0] may be anything. */
static int
find_symbolizer(char *path, size_t size, struct error *err)
{
    static const char *const folders[] = {"/", "/../lib/heapwire/"};
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
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        int length =
            snprintf(path, size, "%s%sheapwire-symbolizer", self, folders[i]);

        if (length > 0 && (size_t)length < size && access(path, X_OK) == 0)
            return 0;
    }
    error_set(err, ER_UNKNOWN,
              "heapwire-symbolizer is neither in %s nor in %s/../lib/heapwire",
              self, self);
    return -1;
}

/* An object whose index is unusable, and why. */
struct unused_index {
    char object[64], why[ERROR_TEXT_MAX];
};

/* Shared by all profiles of one run. */
struct reading {
    const char *binary;  /* NULL: not given */
    const char *symbols; /* directory of indexes, or NULL */
    char helper[PATH_BYTES];
    struct symbolizer *symbolizer;          /* NULL until it is needed */
    bool alone;                             /* only one profile is read: no
                                             * cache is worth keeping */
    bool no_lines;                          /* lines will not be shown */
    bool short_names;                       /* short names suffice */
    struct unused_index unused[UNUSED_MAX]; /* of the current profile */
    size_t unused_count;
};

/* A loaded profile: a raw one is owned here, a snapshot's by the snapshot. */
struct loaded {
    const struct profile *profile;
    struct profile *owned;
    struct snapshot *snapshot;
};

static void
loaded_fini(struct loaded *loaded)
{
    profile_free(loaded->owned);
    snapshot_unref(loaded->snapshot);
}

/* symbolizer_indexes.open */
static int
open_symbol_index(void *arg, const struct elf_file *elf, struct error *why)
{
    const struct reading *reading = arg;

    return index_file_open(elf, reading->symbols, NULL, why);
}

/* symbolizer_indexes.asked: remembers why an index was refused.  The profile's
 * note has room for one complaint only. */
static void
take_note(void *arg, const struct symbolizer_asked *asked)
{
    struct reading *reading = arg;
    struct unused_index *unused = &reading->unused[reading->unused_count];
    struct span name = {base_name(asked->path), 0};

    if (!asked->refused || reading->unused_count == UNUSED_MAX)
        return;
    name.size = strnlen(name.data, sizeof(unused->object) - 1);
    clean_text(name, unused->object);
    snprintf(unused->why, sizeof(unused->why), "%s", asked->refused);
    reading->unused_count++;
}

/* Warns if no index can be in the given directory. */
static void
check_symbols(const char *directory)
{
    struct stat st;

    if (stat(directory, &st) == 0 && !S_ISDIR(st.st_mode))
        errno = ENOTDIR;
    else if (access(directory, X_OK) == 0)
        return;
    fprintf(stderr, "heapwire-prof: cannot look for indexes in --symbols=%s: ",
            directory);
    perror(NULL);
}

/* Makes the symboliser once, when names are first needed.  With one profile
 * nothing is kept for later (once), and this process may read indexes itself
 * (here): a crash costs no more than an answer. */
static int
start_prof_symbolizer(struct reading *reading, struct error *err)
{
    struct symbolizer_indexes indexes = {
        .open = open_symbol_index, .asked = take_note, .arg = reading};
    struct symbolizer_options options = {.program = reading->helper,
                                         .indexes = &indexes,
                                         .no_lines = reading->no_lines,
                                         .short_names = reading->short_names,
                                         .once = reading->alone,
                                         .here = true};

    if (reading->symbolizer)
        return 0;
    if (find_symbolizer(reading->helper, sizeof(reading->helper), err) != 0)
        return -1;
    if (reading->symbols)
        check_symbols(reading->symbols);
    reading->symbolizer = symbolizer_new(&options, err);
    return reading->symbolizer ? 0 : -1;
}

static struct names *
symbolize_dump_addresses(struct reading *reading, const struct heap_dump *dump,
                         struct error *err)
{
    struct resolve_request request = {.maps = &dump->maps,
                                      .addresses = dump->addresses,
                                      .count = dump->address_count,
                                      .program = reading->binary};
    struct names *names = NULL;

    if (start_prof_symbolizer(reading, err) != 0 ||
        symbolizer_resolve(reading->symbolizer, &request, &names, err) != 0)
        return NULL;
    return names;
}

static void
print_profile_warnings(struct reading *reading, const char *path,
                       bool truncated, const char *note)
{
    if (truncated)
        fprintf(stderr, "heapwire-prof: %s was cut off\n", path);
    if (*note)
        fprintf(stderr, "heapwire-prof: %s\n", note);
    for (size_t i = 0; i < reading->unused_count; i++)
        if (!strstr(note, reading->unused[i].why))
            fprintf(stderr, "heapwire-prof: %s: %s\n",
                    reading->unused[i].object, reading->unused[i].why);
    reading->unused_count = 0;
}

static void
name_file_in_error(const char *path, const struct error *why, struct error *err)
{
    error_set(err, why->code, "%s: %s", path, why->text);
}

static struct profile *
read_raw(struct reading *reading, struct prof_input *input, struct error *err)
{
    struct error why = {0};
    struct heap_dump *dump = prof_input_dump(input, &why);
    const char *path = input->path;
    struct names *names = NULL;
    struct profile *profile = NULL;

    if (!dump) {
        if (input->failed)
            *err = why;
        else
            name_file_in_error(path, &why, err);
        return NULL;
    }
    if (!reading->binary) {
        error_set(err, ER_UNKNOWN,
                  "%s is jemalloc's own profile, without names: "
                  "add BINARY, the program that wrote it",
                  path);
        goto out;
    }
    /* before names are made, so that a warning comes first */
    prof_check_replaced(&dump->maps, reading->binary, path);
    names = symbolize_dump_addresses(reading, dump, err);
    if (names)
        profile = profile_new(dump, names, reading->binary, NULL, err);
    if (profile && modules_fill(profile, &dump->maps, NULL, err) != 0) {
        profile_free(profile);
        profile = NULL;
    }
    if (profile)
        print_profile_warnings(reading, path, profile->truncated,
                               profile->note);
out:
    names_free(names);
    heap_dump_free(dump);
    return profile;
}

/* A client that writes a snapshot's value to a file may append a newline, so a
 * second try goes without it. */
static struct snapshot *
read_snapshot(struct prof_input *input, struct error *err)
{
    struct error why, again;
    struct snapshot *snapshot = NULL;
    struct buffer text;

    buffer_init(&text, PROF_INPUT_BYTES_MAX);
    if (prof_input_all(input, &text, err) != 0)
        goto out;
    snapshot = snapshot_decode(text.data, text.size, &why);
    /* empty: the file was cut since its head was read */
    if (!snapshot && text.size > 0 && text.data[text.size - 1] == '\n')
        snapshot = snapshot_decode(text.data, text.size - 1, &again);
    if (!snapshot)
        name_file_in_error(input->path, &why, err);
out:
    buffer_fini(&text);
    return snapshot;
}

static int
load_profile_input(struct reading *reading, const char *path,
                   struct loaded *out, struct error *err)
{
    struct prof_input input;

    if (prof_input_open(&input, path, err) != 0)
        return -1;
    if (prof_check_is_snapshot(input.head, input.head_size))
        out->snapshot = read_snapshot(&input, err);
    else
        out->owned = read_raw(reading, &input, err);
    prof_input_close(&input);
    out->profile = out->snapshot ? out->snapshot->profile : out->owned;
    return out->profile ? 0 : -1;
}

/* Checks as the node does, but with a message for this program. */
static int
check_comparable(const struct prof_command *command, const struct loaded *now,
                 const struct loaded *base, struct error *err)
{
    const char *path = command->arguments[command->argument_count - 1];
    struct error why = {0};

    if (now->profile->kind != base->profile->kind)
        return 0; /* diff_make refuses this, whether forced or not */
    if (!now->snapshot || !base->snapshot)
        return prof_check_program(now->profile, path, base->profile,
                                  command->base, err);
    if (snapshot_comparable(now->snapshot, base->snapshot, &why) == 0)
        return 0;
    /* what follows says how to force it in SQL */
    why.text[strcspn(why.text, ";")] = '\0';
    error_set(err, ER_UNKNOWN, "%s; add --force to compare them anyway",
              why.text);
    return -1;
}

/* Roots both at threads or pools, if asked to, and subtracts. */
static int
compare_loaded(const struct prof_command *command, const struct loaded *now,
               const struct loaded *base, struct profile **difference,
               struct error *err)
{
    struct profile *roots[2] = {NULL, NULL};

    if (profile_root(now->profile, &command->options, &roots[0], err) == 0 &&
        profile_root(base->profile, &command->options, &roots[1], err) == 0)
        *difference = diff_make(roots[0] ? roots[0] : now->profile,
                                roots[1] ? roots[1] : base->profile, err);
    profile_free(roots[0]);
    profile_free(roots[1]);
    return *difference ? 0 : -1;
}

/* *shown: the difference or re-rooted profile, owned by the caller; NULL: show
 * now. */
static int
load_all(const struct prof_command *command, struct reading *reading,
         struct loaded *now, struct profile **shown, struct error *err)
{
    const char *path = command->arguments[command->argument_count - 1];
    struct loaded base = {0};
    int rc = -1;

    if (load_profile_input(reading, path, now, err) != 0)
        return -1;
    if (!command->base)
        return profile_root(now->profile, &command->options, shown, err);
    if (load_profile_input(reading, command->base, &base, err) == 0 &&
        (command->force || check_comparable(command, now, &base, err) == 0))
        rc = compare_loaded(command, now, &base, shown, err);
    loaded_fini(&base);
    return rc;
}

/* Whether an index lies beside the program itself. */
static bool
has_index(const char *binary)
{
    char *path = realpath(binary, NULL);
    bool has = path && index_file_is_shipped(path);

    free(path);
    return has;
}

static int
run_view_command(const struct prof_command *command, struct error *err)
{
    struct reading reading = {0};
    struct loaded now = {0};
    struct profile *difference = NULL;
    struct error later; /* reported only if names are needed */
    struct buffer out;
    int rc = -1;

    buffer_init(&out, output_bytes_max);
    reading.symbols = command->symbols;
    reading.alone = !command->base;
    /* A difference distinguishes functions of one name by their files. */
    reading.no_lines = reading.alone && !view_needs_source_lines(
                                            command->form, &command->options);
    reading.short_names =
        reading.alone &&
        view_takes_short_names(command->form, &command->options);
    if (command->argument_count == 2) {
        if (prof_check_binary(command->arguments[0], command->arguments[1],
                              err) != 0)
            goto out;
        reading.binary = command->arguments[0];
        /* Starts the helper while the profile is read; a snapshot turns out to
         * need no names.  With indexes the helper may not be needed either. */
        if (start_prof_symbolizer(&reading, &later) == 0 && !reading.symbols &&
            !has_index(reading.binary))
            symbolizer_prepare(reading.symbolizer);
    }
    if (load_all(command, &reading, &now, &difference, err) != 0 ||
        command->form->render(difference ? difference : now.profile,
                              &command->options, &out, err) != 0)
        goto out;
    /* only now: after an error stdout stays empty */
    if ((out.size > 0 && fwrite(out.data, 1, out.size, stdout) != out.size) ||
        fflush(stdout) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write to stdout");
        goto out;
    }
    rc = 0;
out:
    profile_free(difference);
    loaded_fini(&now);
    symbolizer_free(reading.symbolizer);
    buffer_fini(&out);
    return rc;
}

static int
run_index(const struct prof_command *command, struct error *err)
{
    char helper[PATH_BYTES];

    if (find_symbolizer(helper, sizeof(helper), err) != 0 ||
        prof_index_make(helper, command, err) != 0)
        return -1;
    if (fflush(stdout) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write to stdout");
        return -1;
    }
    return 0;
}

static int
print_usage_error(const char *needs)
{
    fprintf(stderr, "heapwire-prof: needs %s; see --help\n", needs);
    return EXIT_USAGE;
}

int
main(int argc, char **argv)
{
    struct prof_command command;
    struct error err = {0};

    /* first of all: malloc must not have been used */
    large_heap(heap_bytes);
    /* the node's ceiling protects its database; here is none */
    decode_budget_set(0);
    if (prof_flags_parse(argc, argv, &command) != 0)
        return EXIT_USAGE;
    if (command.help) {
        prof_flags_usage();
        return EXIT_SUCCESS;
    }
    if (command.version) {
        puts("heapwire-prof " HW_VERSION);
        return EXIT_SUCCESS;
    }
    if (command.index && command.argument_count != 1)
        return print_usage_error("one BINARY");
    if (command.argument_count < 1 || command.argument_count > 2)
        return print_usage_error("BINARY and PROFILE, or SNAPSHOT");
    if ((command.index ? run_index : run_view_command)(&command, &err) != 0) {
        fprintf(stderr, "heapwire-prof: %s\n", err.text);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
