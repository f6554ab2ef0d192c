/*
 * setting_value.c - see setting_value.h.
 */
#include "setting_value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "config.h"
#include "errors.h"

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

    if (*text < '0' || *text > '9')
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
        return -1; /* IPv6 needs its brackets */
    }
    if (size >= sizeof(address.text))
        return -1;
    memcpy(address.text, value, size);
    address.port = (uint16_t)port;
    if (address_canonical(address.text, sizeof(address.text)) != 0)
        return -1;
    *out = address;
    return 0;
}

/* Paths are kept absolute: heapwired's directory is not its caller's. */
int
setting_path(char *out, size_t max, const char *value, struct error *err)
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

bool
config_requires_tls(const struct config *config)
{
    return config->require_tls ||
           (!config->listen.none && !address_is_loopback(config->listen.text));
}
