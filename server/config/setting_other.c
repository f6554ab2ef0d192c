/*
 * setting_other.c - functions that read and print the settings which are
 * neither an amount, a word nor a path.  Rows of setting.c point to them.
 */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "ascii.h"
#include "errors.h"
#include "setting.h"
#include "allocator.h"

static int
set_listen_address(struct config_address *out, const char *value, int port,
                   struct error *err)
{
    struct config_address address = {.none = strcmp(value, "none") == 0};

    if (!address.none && setting_address(value, &address) != 0)
        return setting_wrong(
            err,
            "must be ADDRESS:PORT such as 127.0.0.1:%d or [::1]:%d, "
            "or none",
            port, port);
    *out = address;
    return 0;
}

int
setting_set_listen(struct config *c, const char *value, struct error *err)
{
    c->listen_given = true;
    return set_listen_address(&c->listen, value, CONFIG_DEFAULT_PORT, err);
}

int
setting_set_http(struct config *c, const char *value, struct error *err)
{
    c->http_given = true;
    return set_listen_address(&c->http, value, CONFIG_HTTP_PORT, err);
}

int
setting_set_user(struct config *c, const char *value, struct error *err)
{
    size_t size = strlen(value);

    if (size == 0 || size >= sizeof(c->user))
        return setting_wrong(err, "must be the name of a user of this system");
    memcpy(c->user, value, size + 1);
    return 0;
}

_Static_assert((int)CONFIG_FRAMES_BYTES == (int)WRAPPERS_TEXT_BYTES,
               "a list's");

int
setting_set_frames(struct config *c, const char *value, struct error *err)
{
    *c->allocator_frames = '\0';
    return wrappers_add(c->allocator_frames, value, err);
}

/* Accepts digits with at most one point among them, such as "0.5"; strtod()
 * alone would take "1e3", "inf" and the locale's comma. */
int
setting_set_budget(struct config *c, const char *value, struct error *err)
{
    size_t size = strspn(value, "0123456789.");
    double percent = strtod(value, NULL);

    if (size == 0 || value[size] || strchr(value, '.') != strrchr(value, '.') ||
        strcmp(value, ".") == 0 || percent > CONFIG_BUDGET_MAX)
        return setting_wrong(
            err,
            "must be a number from 0 to %d: percent of one CPU for "
            "every eight of the machine; 0 for no budget",
            CONFIG_BUDGET_MAX);
    c->budget_percent = percent;
    return 0;
}

/* Accepts "80, 90, 95", ascending, or "none". */
int
setting_set_at_percent(struct config *c, const char *value, struct error *err)
{
    struct marks_rules rules = c->marks;
    const char *at = value;
    char *end;

    rules.percents = 0;
    while (strcmp(value, "none") != 0) {
        unsigned long percent = strtoul(at, &end, 10);

        /* strtoul() alone would accept blanks and signs. */
        if (!is_digit(*at) || percent < 1 || percent >= MARKS_CEILING ||
            rules.percents == MARKS_MAX ||
            (rules.percents > 0 &&
             percent <= rules.at_percent[rules.percents - 1]))
            goto wrong;
        rules.at_percent[rules.percents++] = (uint8_t)percent;
        end += strspn(end, " \t");
        if (*end == '\0')
            break;
        if (*end != ',')
            goto wrong;
        at = end + 1 + strspn(end + 1, " \t");
    }
    c->marks = rules;
    return 0;
wrong:
    return setting_wrong(
        err,
        "must be at most %d percentages from 1 to %d, ascending, such "
        "as 80, 90, 95; or none",
        MARKS_MAX, MARKS_CEILING - 1);
}

/* ---- [cluster] ---- */

const char *const setting_roles[] = {
    [PEER_BACKEND] = "backend", [PEER_COMPUTE_NODE] = "compute_node", NULL};

/* The name is part of keys in etcd, and is hashed into the cluster's key. */
int
setting_set_cluster_name(struct config *c, const char *value, struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t size = strlen(value);

    if (size == 0 || size > PEER_CLUSTER_MAX || value[strspn(value, allowed)])
        return setting_wrong(
            err, "must be 1 to %d letters, digits, '_', '.' and '-'",
            PEER_CLUSTER_MAX);
    memcpy(c->cluster.name, value, size + 1);
    return 0;
}

int
setting_secret(const char *value, char *out, struct error *err)
{
    size_t size = strlen(value);
    bool fits = size >= PEER_SECRET_MIN && size <= CONFIG_SECRET_MAX;

    for (size_t i = 0; fits && i < size; i++)
        fits = value[i] > ' ' && value[i] < 0x7f;
    if (!fits)
        return setting_wrong(err,
                             "must be %d to %d letters, digits and signs "
                             "without blanks (heapwire-passwd "
                             "--cluster-secret prints one)",
                             PEER_SECRET_MIN, CONFIG_SECRET_MAX);
    memcpy(out, value, size + 1);
    return 0;
}

int
setting_set_secret(struct config *c, const char *value, struct error *err)
{
    return setting_secret(value, c->cluster.secret, err);
}

/* Accepts http://HOST:PORT and https://HOST:PORT, with no path behind. */
static bool
is_endpoint(const char *text, size_t size)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    char host[CONFIG_ENDPOINTS_MAX + 1];
    size_t scheme = strncmp(text, "http://", 7) == 0    ? 7
                    : strncmp(text, "https://", 8) == 0 ? 8
                                                        : 0;
    const char *colon;
    uint32_t port;

    if (scheme == 0 || size <= scheme || size - scheme >= sizeof(host))
        return false;
    memcpy(host, text + scheme, size - scheme);
    host[size - scheme] = '\0';
    colon = strrchr(host, ':');
    return !host[strspn(host, allowed)] && colon && colon > host &&
           setting_number(colon + 1, 1, UINT16_MAX, &port) == 0;
}

int
setting_set_etcd(struct config *c, const char *value, struct error *err)
{
    const char *at = value;
    size_t count = 0;
    bool valid = strlen(value) <= CONFIG_ENDPOINTS_MAX;

    while (valid) {
        size_t size = strcspn(at, ", \t");

        valid = is_endpoint(at, size) && ++count <= CONFIG_ENDPOINTS;
        at += size;
        at += strspn(at, " \t");
        if (*at == '\0')
            break;
        valid = valid && *at == ',';
        at += *at != '\0';
        at += strspn(at, " \t");
    }
    if (!valid)
        return setting_wrong(err,
                             "must be at most %d of http://HOST:PORT or "
                             "https://HOST:PORT, such as "
                             "http://127.0.0.1:2379, with commas between",
                             CONFIG_ENDPOINTS);
    memcpy(c->cluster.etcd.endpoints, value, strlen(value) + 1);
    return 0;
}

static int
set_word(char *out, const char *value, struct error *err)
{
    size_t size = strlen(value);

    if (size == 0 || size > CONFIG_SECRET_MAX)
        return setting_wrong(err, "must be 1 to %d bytes", CONFIG_SECRET_MAX);
    memcpy(out, value, size + 1);
    return 0;
}

int
setting_set_etcd_user(struct config *c, const char *value, struct error *err)
{
    return set_word(c->cluster.etcd.user, value, err);
}

int
setting_set_etcd_password(struct config *c, const char *value,
                          struct error *err)
{
    return set_word(c->cluster.etcd.password, value, err);
}

/* ---- as --check prints them ---- */

static void
print_address(const struct config_address *address, FILE *out)
{
    char text[CONFIG_ADDRESS_TEXT];

    config_address_text(address, text, sizeof(text));
    fputs(text, out);
}

void
setting_print_listen(const struct config *c, FILE *out)
{
    print_address(&c->listen, out);
}

void
setting_print_http(const struct config *c, FILE *out)
{
    print_address(&c->http, out);
}

void
setting_print_require_tls(const struct config *c, FILE *out)
{
    fputs(config_requires_tls(c) ? "yes" : "no", out);
}

void
setting_print_budget(const struct config *c, FILE *out)
{
    fprintf(out, "%g", c->budget_percent);
}

void
setting_print_at_percent(const struct config *c, FILE *out)
{
    const struct marks_rules *marks = &c->marks;

    for (size_t i = 0; i < marks->percents; i++)
        fprintf(out, "%s%u", i ? ", " : "", marks->at_percent[i]);
    fputs(marks->percents ? "" : "none", out);
}
