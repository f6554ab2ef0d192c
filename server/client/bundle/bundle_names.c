/*
 * bundle_names.c - see bundle_names.h.
 *
 * This is a scanner and no parser: a view may be large, and only the values of
 * five keys change.  It relies on calls() writing no blank between a key, its
 * ':' and the value.  Each digest is SHA-256 over a random key and the name,
 * cut to 48 bits; without the key nobody can hash a list of likely names and
 * compare.  A failure fails the buffer, and never lets a name through.
 */
#include "bundle_names.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "buffer.h"

enum { DIGEST_BYTES = 6 };

static const char inlined[] = " (inline)";

/* Answers where the string that starts at at ends, behind its closing quote. */
static const char *
end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

/* Answers whether a name is a remark in one pair of brackets, as "(no frames)"
 * or "[vdso]", and not a function as "(anonymous namespace)::Index::load(int)".
 */
static bool
is_one_remark(const char *name, size_t size)
{
    if (size < 2 || (*name != '(' && *name != '['))
        return false;
    return memchr(name, *name == '(' ? ')' : ']', size) == name + size - 1;
}

static void
append_name_hash(const char *name, size_t size, const unsigned char *key,
                 struct buffer *out)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL) ||
        !EVP_DigestUpdate(context, key, BUNDLE_KEY) ||
        !EVP_DigestUpdate(context, name, size) ||
        !EVP_DigestFinal_ex(context, digest, NULL))
        out->failed = true; /* fails rather than writing the name */
    EVP_MD_CTX_free(context);
    buffer_text(out, "f_");
    for (int i = 0; i < DIGEST_BYTES; i++)
        buffer_format(out, "%02x", digest[i]);
}

void
bundle_hash_name(const char *text, size_t size,
                 const unsigned char key[BUNDLE_KEY], struct buffer *out)
{
    const char *name = text + 1;
    size_t length = size < 2 ? 0 : size - 2, tail = strlen(inlined);
    bool is_inline =
        length > tail && memcmp(name + length - tail, inlined, tail) == 0;

    buffer_char(out, '"');
    if (is_one_remark(name, length))
        buffer_add(out, name, length);
    else if (length == 3 && memcmp(name, "all", 3) == 0)
        buffer_text(out, "all");
    else if (length > 0)
        append_name_hash(name, length - (is_inline ? tail : 0), key, out);
    if (is_inline)
        buffer_text(out, inlined);
    buffer_char(out, '"');
}

/* Copies a list of strings, which starts at its '[', with its names hashed.
 * Answers where it ends. */
static const char *
add_hidden_list(const char *at, const char *end, const unsigned char *key,
                struct buffer *out)
{
    while (at < end && *at != ']') {
        const char *behind;

        if (*at != '"') {
            buffer_char(out, *at++);
            continue;
        }
        behind = end_of_string(at, end);
        bundle_hash_name(at, (size_t)(behind - at), key, out);
        at = behind;
    }
    return at;
}

/* Answers where a value, which is a string or a list of them, ends. */
static const char *
skip_string_or_list(const char *at, const char *end)
{
    bool list = at < end && *at == '[';

    if (!list)
        return end_of_string(at, end);
    while (at < end && *at != ']')
        at = *at == '"' ? end_of_string(at, end) : at + 1;
    return at < end ? at + 1 : end;
}

/* Writes what takes the place of a key's value, and answers where the value
 * ends.  NULL means that values of this key stay as they are. */
static const char *
replace_value(const char *name, size_t size, const char *value, const char *end,
              const unsigned char *key, struct buffer *out)
{
    static const char *const hidden[] = {"\"names\":", "\"modules\":"};
    static const char *const left_out[] = {
        "\"title\":", "\"notes\":", "\"unseen_why\":"};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (size == strlen(hidden[i]) && memcmp(name, hidden[i], size) == 0)
            return add_hidden_list(value, end, key, out);
    for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
        if (size == strlen(left_out[i]) &&
            memcmp(name, left_out[i], size) == 0) {
            buffer_text(out, value < end && *value == '[' ? "[]" : "\"\"");
            return skip_string_or_list(value, end);
        }
    return NULL;
}

void
bundle_hash_names(const char *json, size_t size,
                  const unsigned char key[BUNDLE_KEY], struct buffer *out)
{
    const char *at = json, *end = json + size, *behind, *replaced;

    while (at < end) {
        if (*at != '"') {
            buffer_char(out, *at++);
            continue;
        }
        behind = end_of_string(at, end);
        if (behind < end && *behind == ':')
            behind++;
        buffer_add(out, at, (size_t)(behind - at));
        replaced =
            replace_value(at, (size_t)(behind - at), behind, end, key, out);
        at = replaced ? replaced : behind;
    }
}
