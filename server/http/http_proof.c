/* http_proof.c - see http_proof.h. */
#include "http_proof.h"

#include <string.h>

#include <openssl/evp.h>

/* Is it "SCHEME rest"?  Then *value is the rest. */
static bool
has_scheme(struct span authorization, const char *scheme, struct span *value)
{
    size_t size = strlen(scheme);

    if (authorization.size <= size || authorization.data[size] != ' ' ||
        !span_is_nocase((struct span){authorization.data, size}, scheme))
        return false;
    *value = span_trim(
        (struct span){authorization.data + size, authorization.size - size});
    return true;
}

/* Base64 of "name:password". */
static bool
read_basic(struct span text, struct http_proof *out)
{
    const char *colon;
    int size;

    if (text.size == 0 || text.size % 4 != 0 || text.size > sizeof(out->bytes))
        return false;
    size = EVP_DecodeBlock((uint8_t *)out->bytes, (const uint8_t *)text.data,
                           (int)text.size);
    for (size_t i = 1; i <= 2 && text.data[text.size - i] == '='; i++)
        size--;
    colon = size > 0 ? memchr(out->bytes, ':', (size_t)size) : NULL;
    if (!colon)
        return false;
    out->name = (struct span){out->bytes, (size_t)(colon - out->bytes)};
    out->secret = (struct span){colon + 1, (size_t)size - out->name.size - 1};
    return true;
}

/* "name.secret"; a name may have dots. */
static bool
read_bearer(struct span text, struct http_proof *out)
{
    const char *dot = memrchr(text.data, '.', text.size);

    if (!dot)
        return false;
    out->token = true;
    out->name = (struct span){text.data, (size_t)(dot - text.data)};
    out->secret = (struct span){dot + 1, text.size - out->name.size - 1};
    return true;
}

bool
http_proof_read(struct span authorization, struct http_proof *out)
{
    struct span value;

    out->token = false;
    if (has_scheme(authorization, "Basic", &value))
        return read_basic(value, out);
    return has_scheme(authorization, "Bearer", &value) &&
           read_bearer(value, out);
}
