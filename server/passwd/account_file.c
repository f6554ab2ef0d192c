/*
 * account_file.c - see account_file.h.
 *
 * The file is changed line by line and not written again from a parsed
 * configuration: people's comments, order and blanks must survive.  config.c
 * has parsed the text before, and parses the result before it replaces the
 * file, so a mistake here changes nothing.
 */
#include "account_file.h"

#include <string.h>

#include "buffer.h"
#include "errors.h"

static bool
is_one_of_chars(char c, const char *of)
{
    return c && strchr(of, c);
}

/* *out: the part of a line before the first of the marks, trimmed.  False: the
 * line has no mark. */
static bool
take_text_before_mark(struct span line, const char *marks, struct span *out)
{
    for (size_t i = 0; i < line.size; i++)
        if (is_one_of_chars(line.data[i], marks)) {
            *out = span_trim((struct span){line.data, i});
            return true;
        }
    return false;
}

/* Is the line "[user NAME]"? */
static bool
begins_account(struct span line, const char *name)
{
    struct span inside;

    if (line.size < 6 || memcmp(line.data, "[user", 5) != 0 ||
        !is_one_of_chars(line.data[5], " \t") ||
        !take_text_before_mark(line, "]", &inside))
        return false;
    inside.data += 5;
    inside.size -= 5;
    return span_is(span_trim(inside), name);
}

static int
put_auth(struct buffer *out, const struct verifier *verifier)
{
    char text[AUTH_TEXT];

    if (verifier_print(verifier, text, sizeof(text)) != 0)
        return -1;
    buffer_format(out, "auth = %s\n", text);
    return 0;
}

/* Changes one line of the account's own section, or copies it. */
static int
change_line(struct span line, struct span whole,
            const struct account_change *change, struct buffer *out)
{
    struct span key = {"", 0};

    if (line.size && !is_one_of_chars(line.data[0], ";#"))
        take_text_before_mark(line, "=:", &key);
    if (span_is(key, "auth"))
        return put_auth(out, &change->verifier);
    if (span_is(key, "privileges") && change->privileges) {
        buffer_format(out, "privileges = %s\n", change->privileges);
        return 0;
    }
    buffer_add(out, whole.data, whole.size);
    buffer_char(out, '\n');
    return 0;
}

static int
append_account(const struct account_change *change, struct buffer *out)
{
    buffer_format(out, "%s[user %s]\n", out->size ? "\n" : "", change->name);
    if (put_auth(out, &change->verifier) != 0)
        return -1;
    buffer_format(out, "privileges = %s\n",
                  change->privileges          ? change->privileges
                  : change->verifier.is_token ? ACCOUNT_TOKEN_PRIVILEGES
                                              : ACCOUNT_PRIVILEGES);
    return 0;
}

int
account_file_change(struct span text, const struct account_change *change,
                    struct buffer *out, struct error *err)
{
    struct reader r = reader_of(text.data, text.size);
    struct span whole, line;
    bool inside = false, found = false;
    int rc = 0;

    while (rc == 0 && reader_line(&r, &whole)) {
        line = span_trim(whole);
        if (line.size && line.data[0] == '[') {
            inside = begins_account(line, change->name);
            found = found || inside;
        }
        if (inside) {
            rc = change_line(line, whole, change, out);
        } else {
            buffer_add(out, whole.data, whole.size);
            buffer_char(out, '\n');
        }
    }
    if (found && !change->replace) {
        error_set(err, ER_WRONG_VALUE,
                  "user '%s' exists already (--replace gives a new password)",
                  change->name);
        return -1;
    }
    if (!found && change->replace) {
        error_set(err, ER_WRONG_VALUE,
                  "no user '%s' to replace (without --replace it is added)",
                  change->name);
        return -1;
    }
    if (rc == 0 && !found)
        rc = append_account(change, out);
    if (rc != 0 || out->failed) {
        error_set(err, ER_OUT_OF_MEMORY, "the file grows too large");
        return -1;
    }
    return 0;
}
