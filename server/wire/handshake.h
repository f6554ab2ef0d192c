/*
 * handshake.h - the packets of a login: greeting, response, switch.
 *
 * Pure: bytes in, values out.  Responses are read leniently, as clients lay
 * them out by their own flags or by ours (PROTOCOL.md, "Capabilities").
 */
#ifndef HW_HANDSHAKE_H
#define HW_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "auth.h"
#include "reader.h"

struct error;
struct reply;

/* What a client sent; all spans borrow the packet. */
struct handshake {
    uint32_t capabilities; /* the client's AND ours, and those only noticed */
    struct span user;
    struct span answer; /* to the nonce; empty: none */
    struct span database;
    struct span plugin; /* the plugin that made the answer */
};

void handshake_greet(struct reply *reply, uint32_t connection_id,
                     const char *version, const uint8_t nonce[AUTH_NONCE]);

/* An SSLRequest: the first part of a response, and no more. */
bool handshake_wants_tls(struct span packet);
/* HandshakeResponse41; -1 for anything else. */
int handshake_decode(struct span packet, struct handshake *out,
                     struct error *err);
/* COM_CHANGE_USER without its command byte. */
int handshake_decode_change(struct span packet, struct handshake *out,
                            struct error *err);

/* AuthSwitchRequest to caching_sha2_password, the only one for users. */
void handshake_switch(struct reply *reply, const uint8_t nonce[AUTH_NONCE]);
/* AuthSwitchRequest to a plugin of our own, and AuthMoreData. */
void handshake_switch_to(struct reply *reply, const char *plugin,
                         struct span data);
void handshake_more(struct reply *reply, struct span data);
/* AuthMoreData 3: the fast way succeeded, an OK follows. */
void handshake_fast_ok(struct reply *reply);

#endif
