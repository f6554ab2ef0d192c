/* tree_window.c - OVER and WINDOW. */
#include "tree_parser.h"

static int
read_bound(struct parser *p, const char **bound, struct node **distance)
{
    bool unbounded = parser_accept(p, "UNBOUNDED");

    if (!unbounded && parser_accept(p, "CURRENT")) {
        *bound = "CURRENT ROW";
        return parser_expect(p, "ROW");
    }
    if (!unbounded) {
        *distance = p->grammar->operators(p, BINDS_BIT_OR);
        if (!*distance)
            return -1;
    }
    *bound = unbounded ? "UNBOUNDED PRECEDING" : "PRECEDING";
    if (parser_accept(p, "PRECEDING"))
        return 0;
    *bound = unbounded ? "UNBOUNDED FOLLOWING" : "FOLLOWING";
    return parser_expect(p, "FOLLOWING");
}

/* ROWS BETWEEN 1 PRECEDING AND CURRENT ROW */
static int
read_frame(struct parser *p, struct tree_window *window)
{
    if (parser_accept(p, "ROWS"))
        window->frame = "ROWS";
    else if (parser_accept(p, "RANGE"))
        window->frame = "RANGE";
    else
        return 0;
    if (!parser_accept(p, "BETWEEN"))
        return read_bound(p, &window->bounds[0], &window->distance[0]);
    if (read_bound(p, &window->bounds[0], &window->distance[0]) != 0 ||
        parser_expect(p, "AND") != 0)
        return -1;
    return read_bound(p, &window->bounds[1], &window->distance[1]);
}

/* ([base] [PARTITION BY a, b] [ORDER BY c] [frame]) */
static int
read_specification(struct parser *p, struct tree_window *window)
{
    struct node list = {0};

    if (tree_open(p) != 0)
        return -1;
    if (tree_is_name(&p->token) && !token_is_any(&p->token, "ROWS RANGE") &&
        parser_decode(p, &window->base) != 0)
        return -1;
    if (parser_accept(p, "PARTITION") &&
        (parser_expect(p, "BY") != 0 || tree_list(p, &list) != 0))
        return -1;
    window->partition = list.first;
    if (tree_order_by(p, &window->order) != 0 || read_frame(p, window) != 0)
        return -1;
    return tree_close(p);
}

struct tree_window *
tree_over(struct parser *p)
{
    struct tree_window *window = parser_alloc(p, sizeof(*window));

    if (!window)
        return NULL;
    window->refers = tree_may_name(&p->token);
    if (window->refers)
        return parser_decode(p, &window->name) == 0 ? window : NULL;
    return read_specification(p, window) == 0 ? window : NULL;
}

/* WINDOW name AS (...), ...; behind WINDOW. */
int
tree_windows(struct parser *p, struct tree_window **out)
{
    do {
        struct tree_window *window = parser_alloc(p, sizeof(*window));

        if (!window || parser_name(p, &window->name) != 0 ||
            parser_expect(p, "AS") != 0 || read_specification(p, window) != 0)
            return -1;
        *out = window;
        out = &window->next;
    } while (parser_accept_operator(p, ","));
    return 0;
}
