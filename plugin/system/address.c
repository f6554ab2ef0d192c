/* address.c - see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <string.h>

int
address_canonical(char *text, size_t size)
{
    struct in6_addr bytes; /* large enough for an in_addr, too */
    int family = strchr(text, ':') ? AF_INET6 : AF_INET;

    return inet_pton(family, text, &bytes) == 1 &&
                   inet_ntop(family, &bytes, text, (socklen_t)size)
               ? 0
               : -1;
}

bool
address_is_reachable(const char *text, uint16_t port)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (port == 0)
        return false;
    if (inet_pton(AF_INET, text, &v4) == 1)
        return v4.s_addr != INADDR_ANY && v4.s_addr != INADDR_BROADCAST &&
               !IN_MULTICAST(ntohl(v4.s_addr));
    return inet_pton(AF_INET6, text, &v6) == 1 &&
           !IN6_IS_ADDR_UNSPECIFIED(&v6) && !IN6_IS_ADDR_MULTICAST(&v6) &&
           !IN6_IS_ADDR_V4MAPPED(&v6);
}

bool
address_is_loopback(const char *text)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, text, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}
