/*
 * tables_levers.c - heapwire.levers: what is changed in the database's
 * jemalloc for a time.  It shows what the controller last saw, so nobody
 * waits.
 */
#include <inttypes.h>

#include "buffer.h"
#include "catalog_tables.h"
#include "clock.h"
#include "lever_job.h"
#include "node_status.h"
#include "sql_cursor.h"
#include "sql_session.h"

enum { VALUES_MAX = 128 };

static void
add_values(struct rowset *out, enum node_lever lever, const int64_t values[2],
           bool known)
{
    struct buffer text;

    buffer_init(&text, VALUES_MAX);
    if (known)
        lever_write_values(lever, values, &text);
    out->failed |= text.failed;
    if (text.size > 0)
        rowset_bytes(out, text.data, text.size);
    else
        rowset_null(out);
    buffer_fini(&text);
}

static void
add_lever(struct rowset *out, enum node_lever lever,
          const struct lever_in_force *force)
{
    int64_t left_ms = force->until_ms - clock_wall_ms();
    bool on = force->in_force, ended = force->ended_ms != 0;

    rowset_text(out, lever_label(lever));
    rowset_int(out, on);
    add_values(out, lever, force->set, on);
    rowset_time(out, on ? force->until_ms : 0);
    rowset_int_if(out, on, left_ms > 0 ? (left_ms + 999) / 1000 : 0);
    rowset_text(out, *force->by ? force->by : NULL);
    rowset_time(out, on ? force->since_ms : 0);
    add_values(out, lever, force->was, on);
    rowset_text(out, on && force->error != 0 ? lever_error(force) : NULL);
    rowset_time(out, force->ended_ms);
    rowset_text(out, !ended             ? NULL
                     : force->by_itself ? "its time was over"
                                        : "it was undone");
}

static void
produce_levers(const struct catalog_scope *scope, struct rowset *out)
{
    struct node_status status;

    controller_status(scope->session->node->controller, &status);
    if ((status.state != NODE_CONNECTED && status.state != NODE_UNRESPONSIVE) ||
        !(status.knows & AGENT_KNOWS_LEVERS) || !*status.hello.mallctl)
        return;
    for (int i = 0; i < NODE_LEVERS; i++)
        add_lever(out, (enum node_lever)i, &status.levers[i]);
}

static const struct catalog_column columns_of_levers[] = {
    CATALOG_NODE_ID,
    {"lever", &type_name_nn, "decay or background_threads", CATALOG_KEY},
    {"in_force", &type_boolean_nn, "Whether it is in force"},
    {"value", &type_256, "What it has set; NULL: it is not in force"},
    {"until", &type_time, "When that is put back, UTC"},
    {"seconds_left", &type_ubigint, "Seconds until then"},
    {"user", &type_256, "Who set it last; NULL: nobody did"},
    {"since", &type_time, "When it was first set, UTC"},
    {"value_before", &type_256,
     "The value that is put back; for decay that of new arenas, since each "
     "arena has its own"},
    {"error", &type_256,
     "Why it is overdue: it is tried again each second; NULL: it is not"},
    {"ended", &type_time, "When the last one ended, UTC; NULL: none did"},
    {"ended_how", &type_name, "its time was over, or it was undone"},
};

const struct catalog_table tables_levers[] = {
    {"heapwire", "levers", CATALOG_OWN_COLUMNS(columns_of_levers),
     produce_levers,
     "What is changed in the database's jemalloc for a time, and until when",
     PRIVILEGE_STATUS},
    CATALOG_OF_ALL("levers", columns_of_levers, PRIVILEGE_STATUS,
                   &tables_levers[0]),
    {NULL},
};
