/*
 * milestone.c - see milestone.h.
 *
 * The first word is sent before any other library's constructor (the library is
 * linked with -z initfirst), the second right before main: between the two a
 * fault is not the database's.  Each is a datagram, which the kernel has once
 * the call returns, so that a crash right after does not lose it; a full queue
 * may.  Uses system calls alone: libc may not be initialised.
 */
#include "milestone.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent_tools.h"

/* The variable: the socket's abstract name, a blank, and a secret that each
 * word begins with. */
void
milestone_tell(char *const *envp, enum agent_milestone milestone)
{
    const char *where = agent_env(envp, AGENT_ENV_START);
    const char *blank = where ? strchr(where, ' ') : NULL;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char word[AGENT_NAME_MAX];
    size_t name, secret;
    int fd;

    if (!blank || !agent_is_executable(agent_env(envp, AGENT_ENV_EXE)))
        return;
    name = (size_t)(blank - where);
    secret = strlen(blank + 1);
    if (name >= sizeof(address.sun_path) || secret >= sizeof(word))
        return;
    memcpy(address.sun_path + 1, where, name);
    memcpy(word, blank + 1, secret);
    word[secret] = (char)milestone;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, word, secret + 1, MSG_DONTWAIT | MSG_NOSIGNAL,
           (struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name));
    close(fd);
}

__attribute__((constructor)) static void
on_loaded(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    milestone_tell(envp, AGENT_LOADED);
}
