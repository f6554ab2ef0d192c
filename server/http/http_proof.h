/*
 * http_proof.h - what the header Authorization says: a name, and a password or
 * a token.
 *
 * Pure.
 */
#ifndef HW_HTTP_PROOF_H
#define HW_HTTP_PROOF_H

#include <stdbool.h>

#include "auth.h"
#include "reader.h"
#include "sql.h"

enum { HTTP_DECODED_MAX = SQL_NAME_MAX + 1 + AUTH_PASSWORD_MAX };

struct http_proof {
    bool token;               /* is secret one, or a password? */
    struct span name, secret; /* borrow bytes, or the header */
    char bytes[4 * (HTTP_DECODED_MAX / 3 + 2)]; /* of Basic, decoded */
};

/* False: it is neither "Basic" nor "Bearer", or malformed. */
bool http_proof_read(struct span authorization, struct http_proof *out);

#endif
