/*
 * heapwire_prof.c - heapwire-prof: a heap profile in a file, in any form.
 *
 * The offline twin of the node's statements, with jeprof's flags.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "diff.h"
#include "errors.h"
#include "files.h"
#include "heap_dump.h"
#include "modules.h"
#include "names.h"
#include "prof_flags.h"
#include "profile.h"
#include "symbolizer.h"
#include "view.h"

enum { EXIT_USAGE = 2, PATH_BYTES = 4096 };

static const size_t profile_bytes_max = (size_t)1 << 30;
static const size_t output_bytes_max = (size_t)256 << 20;

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

/* What is shared by all profiles that are read. */
struct reading {
    const char *binary;
    char helper[PATH_BYTES];
    struct symbolizer *symbolizer;
};

static struct names *
name_addresses(const struct reading *reading, const struct heap_dump *dump,
               struct error *err)
{
    struct resolve_request request = {.maps = &dump->maps,
                                      .addresses = dump->addresses,
                                      .count = dump->address_count,
                                      .program = reading->binary};
    struct names *names = NULL;

    if (symbolizer_resolve(reading->symbolizer, &request, &names, err) != 0)
        return NULL;
    return names;
}

static int
open_reading(struct reading *reading, const char *binary, struct error *err)
{
    struct symbolizer_options options = {.program = reading->helper};

    reading->binary = binary;
    if (access(binary, R_OK) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot read %s", binary);
        return -1;
    }
    if (find_symbolizer(reading->helper, sizeof(reading->helper), err) != 0)
        return -1;
    reading->symbolizer = symbolizer_new(&options, err);
    return reading->symbolizer ? 0 : -1;
}

static void
warn(const char *path, const struct heap_dump *dump, const struct names *names)
{
    if (dump->truncated)
        fprintf(stderr, "heapwire-prof: %s was cut off\n", path);
    if (names_note(names)[0])
        fprintf(stderr, "heapwire-prof: %s\n", names_note(names));
}

static struct profile *
read_profile(const struct reading *reading, const char *path, struct error *err)
{
    struct heap_dump *dump = NULL;
    struct names *names = NULL;
    struct profile *profile = NULL;
    struct buffer text;

    buffer_init(&text, profile_bytes_max);
    if (file_read_all(path, &text, err) != 0)
        goto out;
    dump = heap_dump_parse(text.data, text.size, err);
    if (!dump)
        goto out;
    names = name_addresses(reading, dump, err);
    if (!names)
        goto out;
    warn(path, dump, names);
    profile = profile_new(dump, names, reading->binary, NULL, err);
    if (profile && modules_fill(profile, &dump->maps, NULL, err) != 0) {
        profile_free(profile);
        profile = NULL;
    }
out:
    names_free(names);
    heap_dump_free(dump);
    buffer_fini(&text);
    return profile;
}

static struct profile *
read_difference(const struct reading *reading, const char *path,
                const char *base_path, struct error *err)
{
    struct profile *now = read_profile(reading, path, err);
    struct profile *base = NULL, *difference = NULL;

    if (!base_path || !now)
        return now;
    base = read_profile(reading, base_path, err);
    if (base)
        difference = profile_diff(now, base, err);
    profile_free(base);
    profile_free(now);
    return difference;
}

static int
run(const struct prof_command *command, struct error *err)
{
    struct reading reading = {0};
    struct profile *profile = NULL;
    struct buffer out;
    int rc = -1;

    buffer_init(&out, output_bytes_max);
    if (open_reading(&reading, command->arguments[0], err) != 0)
        goto out;
    profile =
        read_difference(&reading, command->arguments[1], command->base, err);
    if (!profile ||
        command->form->render(profile, &command->options, &out, err) != 0)
        goto out;
    if (fwrite(out.data, 1, out.size, stdout) != out.size ||
        fflush(stdout) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write to stdout");
        goto out;
    }
    rc = 0;
out:
    profile_free(profile);
    symbolizer_free(reading.symbolizer);
    buffer_fini(&out);
    return rc;
}

int
main(int argc, char **argv)
{
    struct prof_command command;
    struct error err = {0};

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
    if (command.argument_count != 2) {
        fputs("heapwire-prof: needs BINARY and PROFILE; see --help\n", stderr);
        return EXIT_USAGE;
    }
    if (run(&command, &err) != 0) {
        fprintf(stderr, "heapwire-prof: %s\n", err.text);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
