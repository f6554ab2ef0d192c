/*
 * account_file.h - adds or changes one account in a configuration file.
 *
 * Pure: text in, text out.  All other lines stay as they are, comments
 * included.
 */
#ifndef HW_ACCOUNT_FILE_H
#define HW_ACCOUNT_FILE_H

#include <stdbool.h>

#include "auth.h"
#include "reader.h"

struct buffer;
struct error;

struct account_change {
    const char *name;
    struct verifier verifier;
    const char *privileges; /* NULL: as before, or the default for a new one */
    bool replace;           /* false: an error if the account exists */
};

#define ACCOUNT_PRIVILEGES       "status, profile, control" /* of a new one */
#define ACCOUNT_TOKEN_PRIVILEGES "status, profile"          /* of a new token */

/* Appends the new text to out. */
int account_file_change(struct span text, const struct account_change *change,
                        struct buffer *out, struct error *err);

#endif
