/* tree_window.c - OVER and WINDOW. */
#include "tree_parser.h"

static int
read_bound(struct parser *p, enum tree_bound *bound,
           const struct node **distance)
{
    bool unbounded = parser_accept(p, "UNBOUNDED");
    bool preceding;

    if (!unbounded && parser_accept(p, "CURRENT")) {
        *bound = BOUND_CURRENT_ROW;
        return parser_expect(p, "ROW");
    }
    if (!unbounded) {
        *distance = tree_expression(p, BINDS_BIT_OR);
        if (!*distance)
            return -1;
    }
    preceding = parser_accept(p, "PRECEDING");
    if (!preceding && parser_expect(p, "FOLLOWING") != 0)
        return -1;
    *bound = unbounded   ? preceding ? BOUND_UNBOUNDED_PRECEDING
                                     : BOUND_UNBOUNDED_FOLLOWING
             : preceding ? BOUND_PRECEDING
                         : BOUND_FOLLOWING;
    return 0;
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
    if (tree_open(p) != 0)
        return -1;
    if (tree_is_name(&p->token) && !token_is(&p->token, "ROWS") &&
        !token_is(&p->token, "RANGE") && parser_decode(p, &window->base) != 0)
        return -1;
    if (parser_accept(p, "PARTITION") &&
        (parser_expect(p, "BY") != 0 ||
         tree_list(p, NULL, &window->partition) != 0))
        return -1;
    if (parser_accept(p, "ORDER")) {
        if (parser_expect(p, "BY") != 0)
            return -1;
        window->order = tree_order_read(p);
        if (!window->order)
            return -1;
    }
    if (read_frame(p, window) != 0)
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
