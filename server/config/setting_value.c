/*
 * setting_value.c - see setting.h.
 *
 * Reading is strict: a number with anything behind it, a sign or a blank is
 * refused, since a value that is half understood would be in force unnoticed.
 * Fields are written by memcpy at their offset, by the width that the form has;
 * the table's forms and the fields' types must agree.
 */
#include "setting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "config.h"
#include "ascii.h"
#include "errors.h"

/* ---- numbers with units ---- */

struct unit {
    char letter;
    uint64_t factor;
};

/* Parses a number and a unit's letter, which may be missing. */
static int
parse_unit_number(const char *text, const struct unit *units, uint64_t min,
                  uint64_t max, uint64_t *out)
{
    unsigned long long n;
    uint64_t factor = 1;
    char *end;

    if (!is_digit(*text))
        return -1;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno)
        return -1;
    if (*end) {
        while (units->letter && units->letter != *end)
            units++;
        if (!units->letter || end[1])
            return -1;
        factor = units->factor;
    }
    /* Divides, as the product might overflow. */
    if (n > max / factor || n * factor < min)
        return -1;
    *out = n * factor;
    return 0;
}

/* Parses "90", "90s", "15m", "12h" or "7d" as seconds.  -1: not such a text, or
 * not from min to max; *out is then untouched. */
static int
units_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static const struct unit units[] = {
        {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {0, 0}};

    return parse_unit_number(text, units, min, max, out);
}

/* Parses "4096", "64K", "256M", "1G" or "2T" as bytes; -1 as above. */
static int
units_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    static const struct unit units[] = {{'K', 1 << 10},
                                        {'M', 1 << 20},
                                        {'G', 1 << 30},
                                        {'T', (uint64_t)1 << 40},
                                        {0, 0}};

    return parse_unit_number(text, units, min, max, out);
}

int
setting_wrong(struct error *err, const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    error_set(err, ER_WRONG_VALUE, "%s", text);
    return -1;
}

int
setting_number(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    unsigned long long n;
    char *end;

    if (!is_digit(*text))
        return -1;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || *end || n < min || n > max)
        return -1;
    *out = (uint32_t)n;
    return 0;
}

int
setting_address(const char *value, struct config_address *out)
{
    const char *colon = strrchr(value, ':');
    size_t size = colon ? (size_t)(colon - value) : 0;
    struct config_address address = {0};
    uint32_t port;

    if (!colon || setting_number(colon + 1, 0, UINT16_MAX, &port) != 0)
        return -1;
    if (*value == '[') {
        if (size < 2 || value[size - 1] != ']')
            return -1;
        value++;
        size -= 2;
    } else if (memchr(value, ':', size)) {
        return -1; /* an IPv6 address needs its brackets */
    }
    if (size >= sizeof(address.text))
        return -1;
    memcpy(address.text, value, size);
    address.port = (uint16_t)port;
    /* Written as inet_ntop does, so that equal addresses are equal texts. */
    if (address_canonical(address.text, sizeof(address.text)) != 0)
        return -1;
    *out = address;
    return 0;
}

int
setting_word(const char *const *words, const char *value)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return -1;
}

/* ---- by form ---- */

static int
wrong_amount(const struct setting *s, struct error *err)
{
    const char *zero = s->zero ? s->zero : "", *colon = s->zero ? "; 0: " : "";
    const char *example = s->such_as ? s->such_as : "";

    if (s->form == SETTING_NUMBER)
        return setting_wrong(
            err, "must be a number%s%s from %" PRIu64 " to %" PRIu64 "%s%s",
            s->unit ? " " : "", s->unit ? s->unit : "", s->least, s->most,
            s->zero ? ", or 0 for " : "", zero);
    if (s->form == SETTING_BYTES && s->such_as)
        return setting_wrong(err, "must be a number of bytes such as %s%s%s",
                             example, colon, zero);
    if (s->form == SETTING_BYTES)
        return setting_wrong(
            err, "must be a number of bytes from %" PRIu64 "M to %" PRIu64 "M",
            s->least >> 20, s->most >> 20);
    if (s->least == 0)
        return setting_wrong(
            err, "must be a time such as %s, at most %" PRIu64 " seconds%s%s",
            example, s->most, colon, zero);
    return setting_wrong(
        err, "must be a time%s%s%s from %" PRIu64 " to %" PRIu64 " seconds%s%s",
        s->such_as ? " such as " : "", example, s->such_as ? "," : "", s->least,
        s->most, colon, zero);
}

static int
read_amount_setting(const struct setting *s, const char *value, void *field,
                    struct error *err)
{
    /* 0 is allowed below `least` where the row says what it means. */
    uint64_t least = s->zero ? 0 : s->least, amount = 0;
    uint32_t number = 0;
    int rc;

    if (s->form == SETTING_NUMBER) {
        rc = setting_number(value, (uint32_t)least, (uint32_t)s->most, &number);
        amount = number;
    } else if (s->form == SETTING_BYTES) {
        rc = units_bytes(value, least, s->most, &amount);
    } else {
        rc = units_seconds(value, least, s->most, &amount);
    }
    if (rc != 0 || (amount > 0 && amount < s->least))
        return wrong_amount(s, err);
    number = (uint32_t)amount;
    if (s->form == SETTING_MS)
        amount *= 1000;
    if (s->form == SETTING_MS || s->form == SETTING_BYTES)
        memcpy(field, &amount, sizeof(amount));
    else
        memcpy(field, &number, sizeof(number));
    return 0;
}

static int
read_word_setting(const struct setting *s, const char *value, void *field,
                  struct error *err)
{
    int word = setting_word(s->words, value);
    bool truth = word == 1;

    if (word < 0)
        return setting_wrong(err, "must be %s", s->such_as);
    if (s->form == SETTING_TRUTH)
        memcpy(field, &truth, sizeof(truth));
    else
        memcpy(field, &word, sizeof(word));
    return 0;
}

/* Makes paths absolute, as heapwired may run in another directory than its
 * caller. */
static int
read_path_setting(char *out, size_t max, const char *value, struct error *err)
{
    char here[CONFIG_PATH_MAX] = "";
    int n;

    if (!*value)
        return setting_wrong(err, "must be a path");
    if (*value != '/' && !getcwd(here, sizeof(here)))
        return setting_wrong(err, "must be an absolute path");
    n = snprintf(out, CONFIG_PATH_MAX, "%s%s%s", here, *here ? "/" : "", value);
    if (n < 0 || (size_t)n > max)
        return setting_wrong(err, "must be a path of at most %zu bytes", max);
    return 0;
}

static int
read_path_or_word(const struct setting *s, const char *value, char *out,
                  struct error *err)
{
    if (s->words && setting_word(s->words, value) >= 0) {
        memcpy(out, value, strlen(value) + 1);
        return 0;
    }
    /* A bare word that is not allowed is a typing error, not a relative path.
     */
    if (s->words && !strchr(value, '/'))
        return setting_wrong(err, "must be %s", s->such_as);
    return read_path_setting(out, s->most, value, err);
}

/* Accepts a text that fits into a line of --check and an environment variable.
 */
static int
read_text_setting(const struct setting *s, const char *value, char *out,
                  struct error *err)
{
    size_t size = strlen(value);
    bool plain = size > 0 && size <= s->most;

    for (size_t i = 0; plain && i < size; i++)
        plain = (unsigned char)value[i] >= ' ' && value[i] != 0x7f;
    if (!plain)
        return setting_wrong(err,
                             "must be 1 to %" PRIu64 " bytes without control "
                             "characters",
                             s->most);
    memcpy(out, value, size + 1);
    return 0;
}

int
setting_read(const struct setting *s, const char *value, void *field,
             struct error *err)
{
    switch (s->form) {
    case SETTING_TRUTH:
    case SETTING_WORD:
        return read_word_setting(s, value, field, err);
    case SETTING_PATH:
        return read_path_or_word(s, value, field, err);
    case SETTING_TEXT:
        return read_text_setting(s, value, field, err);
    default:
        return read_amount_setting(s, value, field, err);
    }
}

void
setting_write(const struct setting *s, const struct config *config, FILE *out)
{
    const char *field = (const char *)config + s->field;
    uint64_t amount;
    uint32_t number;

    fprintf(out, "%s=", s->key);
    if (s->print) {
        s->print(config, out);
        fputc('\n', out);
        return;
    }
    switch (s->form) {
    case SETTING_NUMBER:
    case SETTING_SECONDS:
        memcpy(&number, field, sizeof(number));
        fprintf(out, "%" PRIu32, number);
        break;
    case SETTING_MS:
    case SETTING_BYTES:
        memcpy(&amount, field, sizeof(amount));
        fprintf(out, "%" PRIu64,
                s->form == SETTING_MS ? amount / 1000 : amount);
        break;
    case SETTING_TRUTH:
        fputs(s->words[*field ? 1 : 0], out);
        break;
    case SETTING_WORD:
        memcpy(&number, field, sizeof(number));
        fputs(s->words[number], out);
        break;
    case SETTING_PATH:
    case SETTING_TEXT:
    case SETTING_OTHER:
        fputs(s->secret && *field ? "(not shown)" : field, out);
        break;
    }
    fputc('\n', out);
}

static bool
is_wildcard_address(const struct config_address *address)
{
    return strcmp(address->text, "0.0.0.0") == 0 ||
           strcmp(address->text, "::") == 0;
}

bool
config_addresses_clash(const struct config_address *a,
                       const struct config_address *b)
{
    return !a->none && !b->none && a->port > 0 && a->port == b->port &&
           (is_wildcard_address(a) || is_wildcard_address(b) ||
            strcmp(a->text, b->text) == 0);
}

void
config_address_text(const struct config_address *address, char *out,
                    size_t size)
{
    if (address->none)
        snprintf(out, size, "none");
    else if (strchr(address->text, ':'))
        snprintf(out, size, "[%s]:%u", address->text, address->port);
    else
        snprintf(out, size, "%s:%u", address->text, address->port);
}

static bool
requires_tls(const struct config *config, const struct config_address *address)
{
    return config->require_tls ||
           (!address->none && !address_is_loopback(address->text));
}

bool
config_requires_tls(const struct config *config)
{
    return requires_tls(config, &config->listen);
}

bool
config_http_requires_tls(const struct config *config)
{
    return requires_tls(config, &config->http);
}
