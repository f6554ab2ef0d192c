/* script_methods.c - everything that a script can call. */
#include "script_methods.h"

#include <math.h>

#include "sql.h"

/* As Wren's Num.toString writes it. */
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

/* System.print(x): a line; its value is x.  Its output is checked later. */
static enum step
system_print(struct script_call *call, struct error *err)
{
    (void)err;
    if (call->argument_count > 0) {
        print_value(call->output, &call->arguments[0]);
        call->result = call->arguments[0];
    }
    buffer_char(call->output, '\n');
    return STEP_DONE;
}

/* A class's rows stand together. */
const struct script_method script_methods[] = {
    {"HeapProf", "getInstance", 0, 0, true, SCRIPT_ANY, SCRIPT_INSTANCE, 0,
     SCRIPT_INSTANT, heapprof_instance},
    {"HeapProf", "enable_prof", 0, 0, false, SCRIPT_ANY, SCRIPT_INSTANCE,
     PRIVILEGE_CONTROL, SCRIPT_CHANGING, heapprof_enable},
    {"HeapProf", "disable_prof", 0, 0, false, SCRIPT_ANY, SCRIPT_INSTANCE,
     PRIVILEGE_CONTROL, SCRIPT_CHANGING, heapprof_disable},
    {"HeapProf", "has_enable", 0, 0, false, SCRIPT_ANY, SCRIPT_BOOL,
     PRIVILEGE_STATUS, SCRIPT_INSTANT, heapprof_has_enable},
    {"HeapProf", "snapshot", 0, 0, false, SCRIPT_ANY, SCRIPT_STRING,
     PRIVILEGE_PROFILE, SCRIPT_INSTANT, heapprof_snapshot},
    {"HeapProf", "to_dot_format", 1, 1, false, SCRIPT_STRING, SCRIPT_STRING,
     PRIVILEGE_PROFILE, SCRIPT_SLOW, heapprof_to_dot},
    {"HeapProf", "dump_dot_snapshot", 0, 0, false, SCRIPT_ANY, SCRIPT_STRING,
     PRIVILEGE_PROFILE, SCRIPT_SLOW, heapprof_dump_dot},
    {"System", "print", 0, 1, true, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_INSTANT,
     system_print},
};

const size_t script_method_count =
    sizeof(script_methods) / sizeof(script_methods[0]);
