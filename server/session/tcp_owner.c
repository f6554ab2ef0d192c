/*
 * tcp_owner.c - see tcp_owner.h.
 *
 * On loopback the kernel knows both ends of a connection: sock_diag is asked
 * for the socket whose source is our destination, and tells the uid of its
 * owner.  (/proc/net/tcp would be read and searched whole, for each login.)
 */
#include "tcp_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "files.h"

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

/* The beginning of the answer; attributes follow. */
struct answer {
    struct nlmsghdr header;
    struct inet_diag_msg found;
    char more[512];
};

static __be16
copy_address(const struct sockaddr_storage *address, __be32 out[4])
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    if (address->ss_family == AF_INET) {
        out[0] = v4->sin_addr.s_addr;
        return v4->sin_port;
    }
    memcpy(out, &v6->sin6_addr, sizeof(v6->sin6_addr));
    return v6->sin6_port;
}

/* Asks for the other end's own socket: its source is our destination. */
static bool
ask_of(int fd, struct inet_diag_req_v2 *out)
{
    struct sockaddr_storage theirs = {.ss_family = AF_UNSPEC}, ours = theirs;
    socklen_t size = sizeof(theirs);

    if (getpeername(fd, (struct sockaddr *)&theirs, &size) != 0)
        return false;
    size = sizeof(ours);
    if (getsockname(fd, (struct sockaddr *)&ours, &size) != 0 ||
        ours.ss_family != theirs.ss_family ||
        (ours.ss_family != AF_INET && ours.ss_family != AF_INET6))
        return false;
    out->sdiag_family = (__u8)ours.ss_family;
    out->sdiag_protocol = IPPROTO_TCP;
    out->idiag_states = ~(__u32)0;
    out->id.idiag_sport = copy_address(&theirs, out->id.idiag_src);
    out->id.idiag_dport = copy_address(&ours, out->id.idiag_dst);
    out->id.idiag_cookie[0] = out->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return true;
}

bool
tcp_owner(int fd, uid_t *uid)
{
    struct question question = {.header = {.nlmsg_len = sizeof(question),
                                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                           .nlmsg_flags = NLM_F_REQUEST}};
    struct answer answer = {.header = {.nlmsg_len = 0}};
    ssize_t size = 0;
    int kernel;

    if (!ask_of(fd, &question.request))
        return false;
    kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_SOCK_DIAG);
    if (kernel >= 0 && send(kernel, &question, sizeof(question), 0) ==
                           (ssize_t)sizeof(question))
        size = recv(kernel, &answer, sizeof(answer), 0);
    fd_close(kernel);
    /* A socket that its process has closed already is shown as root's, with
     * inode 0. */
    if (size < (ssize_t)NLMSG_LENGTH(sizeof(answer.found)) ||
        answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        answer.found.idiag_inode == 0)
        return false;
    *uid = answer.found.idiag_uid;
    return true;
}
