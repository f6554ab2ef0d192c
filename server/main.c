/* main.c - heapwired: the node's listener. */
#include <stdio.h>
#include <sysexits.h>

#include "arguments.h"
#include "daemon.h"

int
main(int argc, char **argv)
{
    struct arguments arguments;

    if (arguments_parse(&arguments, argc, argv) != 0)
        return EX_CONFIG;
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
