/*
 * fuzz_peer.c - any bytes as what another node says.
 *
 * The first byte says what they are: a challenge, a hello, a welcome or an
 * envelope; and whether its proof is made right before it is read, as a peer
 * that has broken into a node would.
 */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "fuzz_prover.h"
#include "fuzz_target.h"
#include "peer_proof.h"

enum { CHALLENGE, HELLO, WELCOME, ENVELOPE, KINDS, PROVEN = 0x80 };

/* What was said before, on either end. */
static struct peer_transcript
said_before(int kind)
{
    struct peer_transcript t = {.size = 0};
    struct span said;
    struct error err;

    if (kind != CHALLENGE)
        peer_challenge_make(&t, &self, &said, &err);
    if (kind == WELCOME)
        peer_hello_make(&t, &self, 1, &said, &err);
    return t;
}

/* Over the last bytes, as the other end would prove what is before them. */
static void
prove(int kind, const struct peer_transcript *t, uint8_t *bytes, size_t size)
{
    uint8_t text[PEER_TRANSCRIPT_MAX];
    size_t body = size - PEER_PROOF;
    struct span said = {(const char *)text, t->size + body};
    struct error err;

    if (kind == ENVELOPE) {
        (void)peer_mac(key.bytes, bytes, body, bytes + body, &err);
        return;
    }
    if (t->size + body > sizeof(t->bytes))
        return;
    memcpy(text, t->bytes, t->size);
    memcpy(text + t->size, bytes, body);
    (void)peer_key_prove(&key, kind == HELLO ? PEER_CLIENT : PEER_SERVER, said,
                         bytes + body, &err);
}

static void
check_text(const char *text, size_t max)
{
    if (strlen(text) > max)
        abort();
}

static void
check_envelope(struct span bytes, struct error *err)
{
    struct peer_envelope e;
    const struct peer_forwarded *f = &e.forwarded;

    if (peer_envelope_open(bytes, key.bytes, &e, err) != 0)
        return;
    check_text(f->caller.user, SQL_NAME_MAX);
    check_text(f->caller.host, SQL_HOST_MAX);
    if (f->verb > PEER_SELECT ||
        f->caller.privileges & ~(uint32_t)PRIVILEGE_ALL ||
        f->text.size > bytes.size || f->text.data < bytes.data ||
        f->text.data + f->text.size > bytes.data + bytes.size)
        abort();
}

static void
check(int kind, struct peer_transcript *t, struct span bytes)
{
    struct peer_welcome welcome = {.version = ""};
    struct peer_party party = {.id = 1};
    struct error err = {.code = 0};

    if (kind == CHALLENGE)
        (void)peer_challenge_read(t, &self, 1, bytes, &party, &err);
    else if (kind == HELLO)
        (void)peer_hello_check(t, &self, bytes, &party, &err);
    else if (kind == WELCOME)
        (void)peer_welcome_check(t, &self, bytes, &welcome, &err);
    else
        check_envelope(bytes, &err);
    check_text(welcome.version, PEER_VERSION_MAX);
    if (t->size > sizeof(t->bytes) || (kind == CHALLENGE && party.id != 1))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer_transcript t;
    uint8_t *bytes;
    int kind;

    if (size == 0)
        return 0;
    kind = data[0] % KINDS;
    t = said_before(kind);
    size--;
    bytes = malloc(size + !size); /* exact, for the sanitizers */
    if (!bytes)
        return 0;
    memcpy(bytes, data + 1, size);
    if (data[0] & PROVEN && kind != CHALLENGE && size >= PEER_PROOF)
        prove(kind, &t, bytes, size);
    check(kind, &t, (struct span){(const char *)bytes, size});
    free(bytes);
    return 0;
}
