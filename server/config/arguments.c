/*
 * arguments.c - see config.h.  getopt's table is made from the settings' table,
 * so that a new setting needs no line here but its help.
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

void
arguments_help(void)
{
    puts(
        "usage: heapwired [options]\n"
        "\n"
        "Serves this node's heap profiler to MySQL clients.\n"
        "\n"
        "  --config FILE             [node], [snapshots], [budgets], "
        "[profiler],\n"
        "                            [symbols], [cluster], [user NAME] and\n"
        "                            [peer ID] sections; every option below "
        "is\n"
        "                            a key there, too\n"
        "  --node-id N               this node's number (10001)\n"
        "  --listen ADDR:PORT|none   TCP (127.0.0.1:9036), once there are\n"
        "                            users; others than loopback require TLS\n"
        "  --http ADDR:PORT|none     HTTP (127.0.0.1:9037), likewise\n"
        "  --http-get-changes yes|no switch profiling by GET, too, as scripts\n"
        "                            for Doris do (no)\n"
        "  --state-dir DIR           private directory of the node\n"
        "  --socket PATH             unix socket (mysql.sock there)\n"
        "  --user NAME               run as this user when started as root\n"
        "  --exe PATH                the database's executable\n"
        "  --jemalloc auto|no|PATH   what heapwire-run preloads (auto)\n"
        "  --profiling on|prepared|off\n"
        "                            from the start, ready to be switched on\n"
        "                            (prepared), or nothing is set\n"
        "  --profiling-source auto|jemalloc|interposed|patched\n"
        "                            who samples: jemalloc's own profiling\n"
        "                            (auto), or a preload of ours, in front "
        "of\n"
        "                            a shared malloc (interposed) or the\n"
        "                            program's own jemalloc (patched)\n"
        "  --allocator auto|NAME     which one, where there are several: its\n"
        "                            mallctl, or its file (auto)\n"
        "  --mallctl [FILE:]WHERE    symbol or address of mallctl, where it "
        "is\n"
        "                            not found\n"
        "  --process parent|child|NAME\n"
        "                            which process of the database (parent)\n"
        "  --dumpable yes|no         make a database that left root dumpable\n"
        "                            while it is looked at (yes)\n"
        "  --start-timeout S         seconds in which the database reaches "
        "its\n"
        "                            main (20); 0: not watched\n"
        "  --allocator-frames NAMES  functions that are the allocator's, too,"
        "\n"
        "                            with commas between: pool_new,db::Pool::*;"
        "\n"
        "                            none first: not the ones that are known\n"
        "  --log stderr|syslog|PATH  (heapwired.log in the state directory)\n"
        "  --statement-timeout S     seconds a statement may run (60)\n"
        "  --max-connections N       sessions at once (1024)\n"
        "  --idle-timeout S          seconds without a statement (28800)\n"
        "  --login-failures N        in a row, before their address has to\n"
        "                            wait (10); 0: never\n"
        "  --tls-cert FILE           certificate, PEM, its chain behind it\n"
        "  --tls-key FILE            its key (both: made in the state "
        "directory)\n"
        "  --require-tls yes|no      refuse TCP without TLS (no)\n"
        "  --snapshots-keep N        snapshots that are kept (64)\n"
        "  --snapshots-keep-bytes N  bytes of their files, all together (1G)\n"
        "  --snapshots-keep-age S    seconds they stay (0: whatever their "
        "age)\n"
        "  --snapshots-ring S        seconds between two that are kept in "
        "room\n"
        "                            of their own (3600); 0: none\n"
        "  --snapshots-at-percent N, N, ...\n"
        "                            of memory, at which one is taken while\n"
        "                            profiling is on (80, 90, 95); none\n"
        "  --snapshots-growth N      and when memory has grown by so much (0)\n"
        "  --snapshots-every S       and by the clock (0)\n"
        "  --snapshots-hours-left N  and where memory meets its limit in so\n"
        "                            many hours (6); 0\n"
        "  --snapshots-min-interval S\n"
        "                            between two of those (60)\n"
        "  --budgets-every S         how often those with a budget are\n"
        "                            looked at (60); 0: with snapshots\n"
        "  --linger S                seconds that heapwire-run keeps it after\n"
        "                            the database died (900); 0: none\n"
        "  --heartbeat S             seconds without a sign of life after "
        "which\n"
        "                            heapwire-run starts it anew (30); 0\n"
        "  --profiler-guard-timeout S\n"
        "                            seconds without heapwired after which "
        "the\n"
        "                            database switches profiling off (60); 0\n"
        "  --profiler-budget-percent N\n"
        "                            of one CPU for every eight: what "
        "profiling\n"
        "                            may cost before it is switched off (1); "
        "0\n"
        "  --symbols-index on|off    make symbol indexes of costly programs "
        "(on)\n"
        "  --symbols-keep-bytes N    bytes of them, all together (1G)\n"
        "  --symbols-memory N        what naming addresses may keep of debug\n"
        "                            information in memory (256M)\n"
        "  --symbols-debuginfod-urls URLS\n"
        "                            servers of debug information for "
        "programs\n"
        "                            without; none (DEBUGINFOD_URLS)\n"
        "  --symbols-debuginfod-timeout S\n"
        "                            seconds for one file of it (120)\n"
        "  --wait                    for a database that heapwire-run does "
        "not\n"
        "                            start: libheapwire.so is preloaded into "
        "it,\n"
        "                            HEAPWIRE_EXE and HEAPWIRE_STATE_DIR are "
        "set\n"
        "  --check                   examine all of this, print it, and exit\n"
        "  --version, --help");
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
