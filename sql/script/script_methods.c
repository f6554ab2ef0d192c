/* script_methods.c - the table of methods that a script can call. */
#include "script_methods.h"

#include <math.h>
#include <string.h>

#include "clean_text.h"
#include "sql.h"
#include "view.h"

/* Writes a number as Wren's Num.toString does. */
static void
print_number(struct buffer *out, double number)
{
    if (isnan(number))
        buffer_text(out, "nan");
    else if (isinf(number))
        buffer_text(out, number > 0 ? "infinity" : "-infinity");
    else
        buffer_format(out, "%.14g", number);
}

/* Without bytes that are no UTF-8, which clients do not take. */
static void
print_text(struct buffer *out, struct span text)
{
    bool utf8 = text_is_utf8(text);

    for (size_t i = 0; i < text.size && !utf8; i++)
        buffer_format(out, text.data[i] & 0x80 ? "\\x%02x" : "%c",
                      (unsigned char)text.data[i]);
    buffer_add(out, text.data, utf8 ? text.size : 0);
}

static void
print_value(struct buffer *out, const struct script_value *value)
{
    switch (value->type) {
    case SCRIPT_ANY:
    case SCRIPT_NULL:
        buffer_text(out, "null");
        break;
    case SCRIPT_BOOL:
        buffer_text(out, value->boolean ? "true" : "false");
        break;
    case SCRIPT_NUMBER:
        print_number(out, value->number);
        break;
    case SCRIPT_STRING:
        print_text(out, value->text);
        break;
    case SCRIPT_BYTES:
        buffer_add(out, value->text.data, value->text.size);
        break;
    case SCRIPT_CLASS:
        buffer_text(out, value->class_name);
        break;
    case SCRIPT_INSTANCE:
        buffer_format(out, "instance of %s", value->class_name);
        break;
    }
}

/* System.print(x): prints a line, and returns x.  The runner bounds the
 * output. */
static enum step
system_print(struct script_call *call, struct error *err)
{
    (void)err;
    if (call->argument_count > 0) {
        print_value(call->output, &call->arguments[0]);
        call->result = call->arguments[0];
    }
    if (call->result.type != SCRIPT_BYTES)
        buffer_char(call->output, '\n');
    return STEP_DONE;
}

/* A class's rows stand together. */
static const struct script_method rows[] = {
    {"HeapProf", "getInstance", "", true, SCRIPT_INSTANCE, 0, SCRIPT_PURE,
     heapprof_instance},
    {"HeapProf", "enable_prof", "|n", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_CHANGING, heapprof_enable},
    {"HeapProf", "disable_prof", "", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_CHANGING, heapprof_disable},
    {"HeapProf", "has_enable", "", false, SCRIPT_BOOL, PRIVILEGE_STATUS,
     SCRIPT_WAITING, heapprof_has_enable},
    {"HeapProf", "state", "", false, SCRIPT_STRING, PRIVILEGE_STATUS,
     SCRIPT_INSTANT, heapprof_state},
    {"HeapProf", "snapshot", "|m", false, SCRIPT_STRING, PRIVILEGE_PROFILE,
     SCRIPT_WAITING, heapprof_snapshot},
    {"HeapProf", "to_dot_format", "m", false, SCRIPT_STRING, PRIVILEGE_PROFILE,
     SCRIPT_SLOW, heapprof_to_dot},
    {"HeapProf", "dump_dot_snapshot", "", false, SCRIPT_STRING,
     PRIVILEGE_PROFILE, SCRIPT_SLOW, heapprof_dump_dot},
    {"HeapProf", "reset", "|nb", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_CHANGING, heapprof_reset},
    {"HeapProf", "snapshots", "", false, SCRIPT_STRING, PRIVILEGE_STATUS,
     SCRIPT_SLOW, heapprof_snapshots},
    {"HeapProf", "describe", "m", false, SCRIPT_STRING, PRIVILEGE_STATUS,
     SCRIPT_INSTANT, heapprof_describe},
    {"HeapProf", "delete", "m", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_delete},
    {"HeapProf", "delete_like", "s", false, SCRIPT_STRING, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_delete_like},
    {"HeapProf", "pin", "m", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_pin},
    {"HeapProf", "unpin", "m", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_pin},
    {"System", "print", "|*", true, SCRIPT_ANY, 0, SCRIPT_INSTANT,
     system_print},
#define PROFILE(name, takes, call)                                             \
    {                                                                          \
        "Profile", name, takes, false, SCRIPT_INSTANCE, PRIVILEGE_PROFILE,     \
            SCRIPT_PURE, call                                                  \
    }
    {"Profile", "of", "m", true, SCRIPT_INSTANCE, PRIVILEGE_PROFILE,
     SCRIPT_PURE, chain_of},
    {"Profile", "now", "", true, SCRIPT_INSTANCE, PRIVILEGE_PROFILE,
     SCRIPT_WAITING, chain_now},
    PROFILE("base", "m", chain_base),
    PROFILE("by", "s", chain_option),
    PROFILE("granularity", "s", chain_option),
    PROFILE("focus", "s", chain_option),
    PROFILE("ignore", "s", chain_option),
    PROFILE("nodecount", "n", chain_option),
    PROFILE("nodefraction", "n", chain_option),
    PROFILE("edgefraction", "n", chain_option),
    PROFILE("maxdegree", "n", chain_option),
    PROFILE("show_bytes", "|b", chain_option),
    PROFILE("allocator_frames", "|b", chain_option),
    PROFILE("by_growth", "|b", chain_option),
    PROFILE("force", "|b", chain_option),
#undef PROFILE
    {"Profile", "export", "", false, SCRIPT_BYTES, PRIVILEGE_PROFILE,
     SCRIPT_SLOW, chain_export},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

size_t
script_method_count(void)
{
    return ROWS + view_form_count;
}

struct script_method
script_method(size_t i)
{
    const struct view_form *form;
    bool counts;

    if (i < ROWS)
        return rows[i];
    form = &view_forms[i - ROWS];
    counts = strcmp(form->name, "top") == 0;
    return (struct script_method){.class_name = "Profile",
                                  .name = form->name,
                                  .takes = counts ? "|n" : "",
                                  .returns = form->binary ? SCRIPT_BYTES
                                                          : SCRIPT_STRING,
                                  .privilege = PRIVILEGE_PROFILE,
                                  .kind = SCRIPT_SLOW,
                                  .call = chain_view,
                                  .form = form};
}
