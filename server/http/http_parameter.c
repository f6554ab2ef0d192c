/*
 * http_parameter.c - see http_route.h.
 *
 * Parameters become parts of SQL text, so nothing passes that has a quote:
 * numbers are read, names are of one small alphabet, words are compared.
 */
#include "http_route.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "errors.h"
#include "http_request.h"

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

int
http_parameter_text(const struct http_request *request, const char *name,
                    char *out, struct error *err)
{
    if (http_query_get(request->query, name, out, HTTP_VALUE_BYTES) == 0)
        return 0;
    error_set(err, ER_WRONG_ARGUMENTS,
              "the parameter '%s' may be given once, with at most %d bytes "
              "and no control characters",
              name, HTTP_VALUE_BYTES - 1);
    return -1;
}

int
http_parameter_wrong(struct error *err, const char *name, const char *what)
{
    error_set(err, ER_WRONG_ARGUMENTS, "%s= takes %s", name, what);
    return -1;
}

int
http_parameter_number(const struct http_request *request, const char *name,
                      uint32_t max, uint32_t *out, struct error *err)
{
    char text[HTTP_VALUE_BYTES];
    size_t digits;

    *out = 0;
    if (http_parameter_text(request, name, text, err) != 0)
        return -1;
    digits = strspn(text, "0123456789");
    if (text[digits] || digits > 10 || strtoull(text, NULL, 10) > max) {
        error_set(err, ER_WRONG_ARGUMENTS,
                  "%s= takes a whole number from 0 to %u", name, max);
        return -1;
    }
    *out = (uint32_t)strtoull(text, NULL, 10);
    return 0;
}

int
http_parameter_name(const struct http_request *request, const char *name,
                    char *out, struct error *err)
{
    if (http_parameter_text(request, name, out, err) != 0)
        return -1;
    if (out[strspn(out, name_characters)])
        return http_parameter_wrong(
            err, name, "a snapshot's name: 1 to 64 of a-z, 0-9, _");
    return 0;
}

struct span
http_path_name(struct span path, const char *route)
{
    const char *star = strchr(route, '*');
    size_t before = star ? (size_t)(star - route) : 0, size = 0;
    struct span none = {"", 0}, name;

    if (!star || path.size < before || memcmp(path.data, route, before) != 0)
        return none;
    name = (struct span){path.data + before, path.size - before};
    while (size < name.size && size < HTTP_VALUE_BYTES - 1 && name.data[size] &&
           strchr(name_characters, name.data[size]))
        size++;
    if (!span_is((struct span){name.data + size, name.size - size}, star + 1))
        return none;
    return (struct span){name.data, size};
}

int
http_parameter_node(const struct http_request *request, uint32_t node_id,
                    uint32_t *id, struct error *err)
{
    char text[HTTP_VALUE_BYTES];

    *id = node_id;
    if (http_parameter_text(request, "node", text, err) != 0)
        return -1;
    if (strcmp(text, "all") == 0)
        return HTTP_ALL_NODES;
    if (http_parameter_number(request, "node", UINT32_MAX, id, err) != 0)
        return http_parameter_wrong(err, "node", "a node's id, or all");
    if (*id == 0 || *id == node_id) {
        *id = node_id;
        return HTTP_THIS_NODE;
    }
    return HTTP_ONE_NODE;
}

int
http_parameter_script(const struct http_request *request, uint32_t node_id,
                      const char *script, struct buffer *out, struct error *err)
{
    uint32_t id;
    int which = http_parameter_node(request, node_id, &id, err);

    if (which == HTTP_ALL_NODES)
        buffer_format(out, "ADMIN EXECUTE ON ALL '%s'", script);
    else
        buffer_format(out, "ADMIN EXECUTE ON %u '%s'", id, script);
    return which < 0 ? -1 : 0;
}
