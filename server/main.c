/* main.c - heapwired: the node's listener, or the keeper of its secrets. */
#include <stdio.h>
#include <sysexits.h>

#include "config.h"
#include "daemon.h"
#include "keeper.h"

int
main(int argc, char **argv)
{
    bool keeps = keeper_is_meant(argv[0]);
    struct arguments arguments;

    if (keeps)
        keeper_harden();
    if (arguments_parse(&arguments, argc, argv) != 0)
        return EX_CONFIG;
    if (keeps)
        return keeper_serve(&arguments);
    if (arguments.help) {
        arguments_help();
        return 0;
    }
    if (arguments.version) {
        puts("heapwired " HW_VERSION);
        return 0;
    }
    return arguments.check ? daemon_check(&arguments) : daemon_run(&arguments);
}
