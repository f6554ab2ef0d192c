/*
 * arguments.c - see config.h.  getopt's table is made from the settings' table,
 * so that a new setting needs no line here.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
    OPTION_CONFIG = 1000, /* above every enum config_key */
    OPTION_CHECK,
    OPTION_WAIT,
    OPTION_HELP,
    OPTION_VERSION,
    OPTIONS_EXTRA = 5
};

enum { HELP_COLUMN = 28, HELP_WIDTH = 52, HELP_MAX = 400 };

/* The text in lines, from the column on. */
static void
print_help(const char *option, const char *argument, const char *text)
{
    int at = printf("  --%s %s", option, argument);

    printf("%*s", at < HELP_COLUMN ? HELP_COLUMN - at : 0, "");
    if (at >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    while (strlen(text) > HELP_WIDTH) {
        int size = HELP_WIDTH;

        while (size > 1 && text[size] != ' ')
            size--;
        printf("%.*s\n%*s", size, text, HELP_COLUMN, "");
        text += size + 1;
    }
    puts(text);
}

static void
print_setting_help(enum config_key key)
{
    char value[64], text[HELP_MAX];

    setting_default(key, value, sizeof(value));
    snprintf(text, sizeof(text), *value ? "%s (%s)" : "%s", setting_help(key),
             value);
    print_help(setting_option(key), setting_argument(key), text);
}

void
arguments_help(void)
{
    puts("usage: heapwired [options]\n\n"
         "Serves this node's heap profiler to MySQL clients.\n");
    print_help("config", "FILE",
               "[node], [snapshots], [budgets], [profiler], [symbols], "
               "[cluster], [user NAME] and [peer ID] sections; every option "
               "between this and --wait is a key there, too");
    for (enum config_key i = 0; i < CONFIG_KEYS; i++)
        if (setting_option(i))
            print_setting_help(i);
    print_help("wait", "",
               "for a database that heapwire-run does not start: "
               "libheapwire.so is preloaded into it, HEAPWIRE_EXE and "
               "HEAPWIRE_STATE_DIR are set");
    print_help("check", "", "examine all of this, print it, and exit");
    puts("  --version, --help");
}

/* Fills getopt's table: a row for each setting that has an option, then our
 * own. */
static void
fill_options(struct option *options)
{
    static const struct option extra[OPTIONS_EXTRA + 1] = {
        {"config", required_argument, NULL, OPTION_CONFIG},
        {"check", no_argument, NULL, OPTION_CHECK},
        {"wait", no_argument, NULL, OPTION_WAIT},
        {"help", no_argument, NULL, OPTION_HELP},
        {"version", no_argument, NULL, OPTION_VERSION},
        {NULL, 0, NULL, 0},
    };

    for (enum config_key i = 0; i < CONFIG_KEYS; i++)
        if (setting_option(i))
            *options++ = (struct option){setting_option(i), required_argument,
                                         NULL, (int)i};
    memcpy(options, extra, sizeof(extra));
}

int
arguments_parse(struct arguments *out, int argc, char **argv)
{
    struct option options[CONFIG_KEYS + OPTIONS_EXTRA + 1];
    int option;

    memset(out, 0, sizeof(*out));
    out->argv = argv;
    fill_options(options);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread so far */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option >= 0 && option < CONFIG_KEYS)
            out->config.values[option] = optarg;
        else if (option == OPTION_CONFIG)
            out->config.file = optarg;
        else if (option == OPTION_WAIT)
            out->wait = true;
        else if (option == OPTION_CHECK)
            out->check = true;
        else if (option == OPTION_HELP)
            out->help = true;
        else if (option == OPTION_VERSION)
            out->version = true;
        else { /* getopt_long has printed the reason */
            fputs("heapwired: see --help\n", stderr);
            return -1;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "heapwired: '%s' is not an option (see --help)\n",
                argv[optind]);
        return -1;
    }
    return 0;
}
