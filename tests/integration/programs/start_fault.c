/*
 * start_fault.c - a program that what is set or preloaded keeps from starting.
 *
 * start_fault WHEN WHAT STATUS: WHEN, in a constructor, it does WHAT: "prof":
 * where prof:true is in its environment; "preload": where jemalloc is loaded;
 * "library": where heapwire's agent is; "never"; "main": there, not before;
 * "agent": there, where heapwire's agent is loaded; "served": likewise, once it
 * has listened for two seconds.  WHAT: a signal's number, or "hang". Otherwise
 * main says so, and exits with STATUS; "stay": once a signal ends it.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static int
has_prof(void)
{
    for (char **env = environ; *env; env++)
        if (strstr(*env, "MALLOC_CONF=") && strstr(*env, "prof:true"))
            return 1;
    return 0;
}

static void
do_it(const char *what)
{
    if (strcmp(what, "hang") == 0)
        for (;;)
            pause();
    raise((int)strtol(what, NULL, 10));
}

__attribute__((constructor)) static void
before_main(int argc, char **argv)
{
    const char *when = argc > 2 ? argv[1] : "";

    if ((strcmp(when, "prof") == 0 && has_prof()) ||
        (strcmp(when, "preload") == 0 && dlsym(RTLD_DEFAULT, "mallctl")) ||
        (strcmp(when, "library") == 0 && dlsym(RTLD_DEFAULT, "heapwire_start")))
        do_it(argv[2]);
}

static void
listen_a_while(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    bind(fd, (struct sockaddr *)&any, sizeof(sa_family_t));
    listen(fd, 1);
    sleep(2); /* it is looked at more often */
}

int
main(int argc, char **argv)
{
    const char *when = argc > 2 ? argv[1] : "";

    printf("main prof=%d jemalloc=%d\n", has_prof(),
           dlsym(RTLD_DEFAULT, "mallctl") != NULL);
    fflush(stdout);
    if (strcmp(when, "served") == 0)
        listen_a_while();
    if (strcmp(when, "main") == 0 ||
        ((strcmp(when, "agent") == 0 || strcmp(when, "served") == 0) &&
         dlsym(RTLD_DEFAULT, "heapwire_start")))
        do_it(argv[2]);
    if (argc > 3 && strcmp(argv[3], "stay") == 0)
        pause();
    return argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
}
