/*
 * main.c - heapwire: asks nodes from a command line.
 *
 * Options end up in an array by their letter, and each command is a row of a
 * table that says how many words it takes and whether it reads standard input.
 * What an option may go with is checked before anything is read or asked, so a
 * wrong command line costs no connection.  Ctrl-C needs no code here: a node
 * ends the statement of a client that is gone.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "bundle.h"
#include "client_command.h"
#include "doctor.h"
#include "get_view.h"
#include "option_file.h"
#include "top.h"

enum { INPUT_MAX = (16 << 20) + 1, PORT_MAX = 65535, LETTERS = 128 };
enum { WORDS_MAX = 1 << 16 };

static const char help[] =
    "usage: heapwire [OPTION...] diagnose [NODES]\n"
    "       heapwire [OPTION...] on NODES SCRIPT\n"
    "       heapwire [OPTION...] sql STATEMENT, or -e STATEMENT\n"
    "       heapwire [OPTION...] get [FORM [SNAPSHOT]]\n"
    "       heapwire [OPTION...] bundle [SNAPSHOT...] --output FILE\n"
    "       heapwire [OPTION...] top [VIEW]\n"
    "       heapwire [OPTION...] doctor [-- COMMAND...]\n\n"
    "diagnose says why the database's memory is so large, and what to do, of\n"
    "the node that is asked or of NODES: ids with commas between, or ALL.\n"
    "on runs a script on NODES.  sql shows rows.  A SCRIPT or STATEMENT that "
    "is\n"
    "left out is read from standard input; without a word that is a "
    "STATEMENT.\n"
    "get writes a view of a snapshot, or of the heap now; alone it lists the\n"
    "FORMs that the node has: top, flamegraph, pprof, ...  bundle writes one\n"
    "HTML file that opens offline and can be mailed: the heap now and the "
    "newest\n"
    "snapshots, or those named, and what else the node knows.  top shows all\n"
    "nodes on the terminal.  doctor says what stops which feature, of the "
    "node,\n"
    "or of a COMMAND that does not run yet.\n\n"
    "VIEW: " TOP_VIEWS "\n\n"
    "  --socket FILE, -S  the node's socket; the only one in /run is found\n"
    "  --host HOST, -h    the node's address, in the place of a socket\n"
    "  --port PORT, -P    its port (9036)\n"
    "  --user NAME, -u    the account\n"
    "  --password, -p     ask for its password, which ~/.my.cnf may have\n"
    "  --ssl-ca FILE      use TLS, and trust only this certificate\n"
    "  --defaults-file FILE\n"
    "                     read it in the place of ~/.my.cnf\n"
    "  --execute STATEMENT, -e\n"
    "                     the same as sql STATEMENT\n"
    "  --json             rows as a JSON array\n"
    "  --tsv              rows with tabs between\n"
    "  --output FILE, -o  get and bundle write there\n"
    "  --hash-names       replace the names of functions in a bundle by "
    "hashes\n"
    "  --batch, -b        top prints tables\n"
    "  --count N, -n      end after N tables\n"
    "  --interval S, -d   seconds between two tables or looks (2)\n"
    "  --help             print this\n"
    "  --version, -V      print the version\n";

/* Closes standard output after all that was written to it, since an error such
 * as a full disk may show only then. */
static enum client_status
finish_output(void)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0 && fclose(stdout) == 0)
        return CLIENT_OK;
    warn("standard output");
    return CLIENT_FAILED;
}

static const char commands_help[] =
    "name a command: diagnose, on, sql, get, bundle, top or doctor";

/* Reads what the command line left out from standard input.  Answers false if
 * that is a terminal or empty, or if it failed, which *status tells. */
static bool
read_input(struct buffer *out, enum client_status *status)
{
    size_t got = 1;
    char *room;

    if (isatty(STDIN_FILENO))
        return false;
    while (got > 0 && (room = buffer_reserve(out, BUFSIZ))) {
        got = fread(room, 1, BUFSIZ, stdin);
        buffer_claim(out, got);
    }
    if (out->failed || ferror(stdin) ||
        (out->size > 0 && memchr(out->data, '\0', out->size)))
        *status = command_usage(
            "standard input must be a text of at most 16 MB, without NUL", "");
    return *status == CLIENT_OK && out->size > 0;
}

static enum client_status
check_options(const char *const *given, const char *name)
{
    const char *port = given['P'] ? given['P'] : "1";
    bool top = strcmp(name, "top") == 0, get = strcmp(name, "get") == 0,
         bundle = strcmp(name, "bundle") == 0;

    if (given['j'] && given['t'])
        return command_usage("give only one of --json and --tsv", "");
    if (get && (given['j'] || given['t']))
        return command_usage(
            "get writes a view as it is, not rows: without --json and --tsv; "
            "the form calls is JSON, and --json sql 'SELECT * FROM "
            "heap_functions' has rows",
            "");
    if (!top && (given['b'] || given['n'] || given['d']))
        return command_usage(
            "--batch, --count and --interval go with top, not with ", name);
    if (!given['b'] && given['n'])
        return command_usage("--count needs --batch", "");
    if ((given['j'] && (top || bundle)) ||
        (given['t'] && (top || bundle || strcmp(name, "doctor") == 0)))
        return command_usage("--json and --tsv do not go with ", name);
    if (given['o'] && !get && !bundle)
        return command_usage("--output goes with get and bundle, not with ",
                             name);
    if (port[strspn(port, "0123456789")] || atoi(port) < 1 ||
        atoi(port) > PORT_MAX)
        return command_usage("--port takes a number from 1 to 65535, not ",
                             port);
    return CLIENT_OK;
}

/* ---- the commands: words[0] is the name, NULL comes last ---- */

static enum client_status
run_diagnose(const char *const *given, char **words, int count)
{
    (void)count;
    return command_diagnose(given, words[1]);
}

static enum client_status
run_on_command(const char *const *given, char **words, int count)
{
    (void)count;
    return command_on(given, words[1], words[2]);
}

static enum client_status
run_sql(const char *const *given, char **words, int count)
{
    (void)count;
    return command_sql(given, words[1]);
}

static enum client_status
run_get(const char *const *given, char **words, int count)
{
    if (count > 1)
        return view_get(given, words[1], count > 2 ? words[2] : "now");
    return given['o'] ? command_usage("name a form: get FORM --output FILE", "")
                      : view_list_forms(given);
}

static enum client_status
run_bundle(const char *const *given, char **words, int count)
{
    return given['o'] ? bundle_write(given, words + 1, count - 1, given['N'],
                                     given['o'])
                      : command_usage("name a file: --output FILE", "");
}

static enum client_status
run_top(const char *const *given, char **words, int count)
{
    (void)count;
    return top_run(given, words[1]);
}

/* Its exit status is doctor_run()'s and no client_status: 0, 1 or 2. */
static enum client_status
run_doctor(const char *const *given, char **words, int count)
{
    return (enum client_status)doctor_run(given, count > 1 ? words + 1 : NULL);
}

static const struct command {
    const char *name;
    int least, most; /* words, with the name */
    /* standard input is the last word if that is missing */
    bool reads_input;
    const char *completed; /* what the first word may be, or NULL */
    enum client_status (*run)(const char *const *given, char **words,
                              int count);
} commands[] = {
    {"diagnose", 1, 2, false, "ALL", run_diagnose},
    {"on", 3, 3, true, "ALL", run_on_command},
    {"sql", 2, 2, true, NULL, run_sql},
    {"get", 1, 3, false, NULL, run_get},
    {"bundle", 1, WORDS_MAX, false, NULL, run_bundle},
    {"top", 1, 2, false, TOP_VIEWS, run_top},
    {"doctor", 1, WORDS_MAX, false, NULL, run_doctor},
};

static const struct command *
find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static enum client_status
run_with_words(const struct command *command, const char *const *given,
               char **words, int count)
{
    if (count == 0)
        return command_usage(commands_help, "");
    if (count < command->least || count > command->most)
        return command_usage("too few or too many words after ", command->name);
    return command->run(given, words, count);
}

/* Where the command's last word is missing and standard input has a text, that
 * is the last word. */
static enum client_status
run_with_input(const struct command *command, const char *const *given,
               char **words, int count)
{
    char *completed[4] = {NULL};
    enum client_status status = CLIENT_OK;
    struct buffer input;

    buffer_init(&input, INPUT_MAX);
    if (read_input(&input, &status)) {
        for (int i = 0; i < count; i++)
            completed[i] = words[i];
        count = command->least;
        completed[count - 1] = input.data;
        words = completed;
    }
    if (status == CLIENT_OK && words != completed && count > 0 &&
        !isatty(STDIN_FILENO))
        status = command_usage(command->run == run_sql
                                   ? "standard input has no statement"
                                   : "standard input has no script",
                               "");
    else if (status == CLIENT_OK)
        status = run_with_words(command, given, words, count);
    buffer_fini(&input);
    return status;
}

/* given has an option's value by its letter: "" if it takes none, NULL if it is
 * not there.  Without words the statement for `sql` comes from standard input.
 */
static enum client_status
run_client_command(const char *const *given, char **words, int count)
{
    const struct command *command = find_command(count > 0 ? words[0] : "sql");
    enum client_status status;

    if (!command)
        return command_usage(commands_help, "");
    status = check_options(given, command->name);
    if (status != CLIENT_OK)
        return status;
    if (given['e'] && count > 0)
        return command_usage("-e STATEMENT stands alone, not with ", words[0]);
    if (given['e'])
        return command_sql(given, given['e']);
    if (command->reads_input && (count > 0 ? count : 1) == command->least - 1)
        return run_with_input(command, given, words, count);
    return run_with_words(command, given, words, count);
}

static const struct option options[] = {
    {"socket", required_argument, NULL, 'S'},
    {"host", required_argument, NULL, 'h'},
    {"port", required_argument, NULL, 'P'},
    {"user", required_argument, NULL, 'u'},
    {"password", no_argument, NULL, 'p'},
    {"ssl-ca", required_argument, NULL, 'c'},
    {"json", no_argument, NULL, 'j'},
    {"tsv", no_argument, NULL, 't'},
    {"output", required_argument, NULL, 'o'},
    {"hash-names", no_argument, NULL, 'N'},
    {"batch", no_argument, NULL, 'b'},
    {"count", required_argument, NULL, 'n'},
    {"interval", required_argument, NULL, 'd'},
    {"defaults-file", required_argument, NULL, 'D'},
    {"execute", required_argument, NULL, 'e'},
    {"help", no_argument, NULL, 'H'},
    {"version", no_argument, NULL, 'V'},
    {0}};

static const char letters[] = "S:h:P:u:po:bn:d:e:V";

static int
next_option(int argc, char **argv)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    return getopt_long(argc, argv, letters, options, NULL);
}

/* Completes for a shell: prints what the last word, whose start is typed, may
 * become, one per line.  Printing nothing makes the shell complete the name of
 * a file. */
static void
print_completions(int argc, char **argv)
{
    const char *begin = argv[argc - 1], *given[LETTERS] = {NULL};
    const struct command *command;
    const char *words = NULL;
    int letter;

    argv[argc - 1] = NULL;
    opterr = 0;
    while ((letter = next_option(argc - 1, argv)) != -1) {
        if (letter == '?' && optind == argc - 1 && optopt)
            return; /* the option's value is being typed */
        given[letter] = optarg;
    }
    if (optind > 1 && strcmp(argv[optind - 1], "--") == 0)
        return;
    if (*begin == '-') {
        for (size_t i = 0; options[i].name; i++)
            printf("--%s\n", options[i].name);
        return;
    }
    if (optind == argc - 1)
        for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
            puts(commands[i].name);
    command = optind == argc - 2 ? find_command(argv[optind]) : NULL;
    for (words = command ? command->completed : NULL; words && *words;
         words += strcspn(words, " ") + (strchr(words, ' ') != NULL))
        printf("%.*s\n", (int)strcspn(words, " "), words);
    if (command && command->run == run_get &&
        option_file_read(given['D']) == CLIENT_OK)
        view_list_forms(given);
}

int
main(int argc, char **argv)
{
    const char *given[LETTERS] = {NULL};
    enum client_status status = CLIENT_OK;
    int letter;

    /* If one of the three is closed, a later socket would get its number, and
     * output would go to the node.  /dev/full takes its place, so that writing
     * fails. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/full", O_RDWR) < 0)
            return CLIENT_FAILED;
    if (argc > 2 && strcmp(argv[1], "--complete") == 0) {
        print_completions(argc - 1, argv + 1);
        return finish_output();
    }
    while ((letter = next_option(argc, argv)) != -1) {
        if (letter == '?')
            return CLIENT_USAGE; /* getopt has said why */
        given[letter] = optarg ? optarg : "";
    }
    if (given['H'])
        fputs(help, stdout);
    else if (given['V'])
        puts("heapwire " HW_VERSION);
    else if ((status = option_file_read(given['D'])) == CLIENT_OK)
        status = run_client_command(given, argv + optind, argc - optind);
    return finish_output() == CLIENT_OK ? (int)status : CLIENT_FAILED;
}
