/*
 * script_methods.c - the table of methods that a script can call; it finds
 * them, and lists them in errors.
 *
 * A script has no grammar worth learning; what its author needs to know is
 * which methods there are.  So an error about a name lists those that exist,
 * with their arguments, made from the same table that finds them.  Several
 * rows may have one name, told apart by the number of their arguments and the
 * type of the first.  The table has some 60 rows, which are searched linearly,
 * only while a script is parsed.
 */
#include "script_methods.h"

#include <math.h>
#include <string.h>

#include "clean_text.h"
#include "errors.h"
#include "script_tree.h"
#include "sql.h"
#include "view.h"

const char *
script_class(struct span name)
{
    for (size_t i = 0; i < script_method_count(); i++)
        if (span_is(name, script_method(i).class_name))
            return script_method(i).class_name;
    return NULL;
}

/* Lists every class once, in the table's order: "HeapProf, System". */
static void
list_script_classes(struct buffer *out)
{
    const char *last = "";

    for (size_t i = 0; i < script_method_count(); i++) {
        const char *name = script_method(i).class_name;

        if (strcmp(name, last) != 0)
            buffer_format(out, "%s%s", i ? ", " : "", name);
        last = name;
    }
}

/* The meanings of the letters in takes. */
static const struct {
    char letter;
    enum script_type type;
    const char *name;
} kinds[] = {
    {'s', SCRIPT_STRING, "String"}, {'m', SCRIPT_STRING, "String"},
    {'n', SCRIPT_NUMBER, "Num"},    {'b', SCRIPT_BOOL, "Bool"},
    {'*', SCRIPT_ANY, "_"},
};

/* The index in kinds of argument i; -1: the method takes fewer. */
static int
method_argument_kind(const struct script_method *m, size_t i)
{
    for (const char *c = m->takes; *c; c++) {
        int kind = 0;

        if (*c == '|')
            continue;
        if (i-- > 0)
            continue;
        while (kinds[kind].letter != *c)
            kind++;
        return kind;
    }
    return -1;
}

static bool
takes_so_many(const struct script_method *m, size_t arguments)
{
    size_t most = strlen(m->takes), least = strcspn(m->takes, "|");

    most -= least < most; /* without the bar */
    return arguments >= least && arguments <= most;
}

/* "reset(Num, [Bool])" */
static void
list_method(struct buffer *out, const struct script_method *m)
{
    size_t least = strcspn(m->takes, "|");
    int kind;

    buffer_format(out, "%s(", m->name);
    for (size_t i = 0; (kind = method_argument_kind(m, i)) >= 0; i++)
        buffer_format(out, i < least ? "%s%s" : "%s[%s]", i ? ", " : "",
                      kinds[kind].name);
    buffer_text(out, ")");
}

static void
list_methods(struct buffer *out, const char *class_name, bool is_static)
{
    bool any = false;

    for (size_t i = 0; i < script_method_count(); i++) {
        struct script_method m = script_method(i);

        if (strcmp(m.class_name, class_name) != 0 || m.is_static != is_static)
            continue;
        buffer_text(out, any ? ", " : "");
        list_method(out, &m);
        any = true;
    }
    if (!any)
        buffer_text(out, "no methods");
}

void
script_unknown_name(struct script_parser *p)
{
    static const char *const wren[] = {
        "class",     "if",    "else",     "for",   "while",  "return",
        "import",    "is",    "this",     "super", "static", "foreign",
        "construct", "break", "continue", "as",    "in"};
    struct buffer known;

    for (size_t i = 0; i < sizeof(wren) / sizeof(wren[0]); i++)
        if (span_is(p->token.text, wren[i])) {
            fail_at(p, p->token.offset,
                    "'%s' is not part of this language: calls and variables "
                    "only",
                    wren[i]);
            return;
        }
    buffer_init(&known, ERROR_TEXT_MAX);
    list_script_classes(&known);
    fail_at(p, p->token.offset, "unknown name '%.*s'; the classes are %s",
            span_shown(p->token.text), p->token.text.data,
            known.data ? known.data : "");
    buffer_fini(&known);
}

const char *
script_describe(const struct script_node *node)
{
    static const char *const names[] = {
        [SCRIPT_NULL] = "Null",           [SCRIPT_BOOL] = "Bool",
        [SCRIPT_NUMBER] = "Num",          [SCRIPT_STRING] = "String",
        [SCRIPT_BYTES] = "bytes",         [SCRIPT_CLASS] = "a class",
        [SCRIPT_INSTANCE] = "an instance"};

    return node->class_name ? node->class_name : names[node->type];
}

/* Is it a method of the class's instance, which getInstance() gives? */
static bool
instance_has(const struct script_node *receiver, struct span name)
{
    bool gives = false, has = false;

    if (receiver->type != SCRIPT_CLASS)
        return false;
    for (size_t i = 0; i < script_method_count(); i++) {
        struct script_method m = script_method(i);

        if (strcmp(m.class_name, receiver->class_name) != 0)
            continue;
        gives |= strcmp(m.name, "getInstance") == 0;
        has |= !m.is_static && span_is(name, m.name);
    }
    return gives && has;
}

static int
fail_unknown_method(struct script_parser *p, const struct script_node *receiver,
                    const struct script_token *name, size_t arguments)
{
    struct buffer known;

    if (instance_has(receiver, name->text))
        return fail_at(p, name->offset,
                       "'%.*s' is a method of an instance: write "
                       "%s.getInstance().%.*s(...)",
                       span_shown(name->text), name->text.data,
                       receiver->class_name, span_shown(name->text),
                       name->text.data);
    buffer_init(&known, ERROR_TEXT_MAX);
    list_methods(&known, receiver->class_name ? receiver->class_name : "",
                 receiver->type == SCRIPT_CLASS);
    fail_at(p, name->offset,
            "%s%s has no method '%.*s' with %zu argument%s; it has %s",
            receiver->type == SCRIPT_INSTANCE ? "an instance of " : "",
            script_describe(receiver), span_shown(name->text), name->text.data,
            arguments, arguments == 1 ? "" : "s",
            known.data ? known.data : "no methods");
    buffer_fini(&known);
    return -1;
}

/* Is the first argument of the method's type?  That tells rows of one name
 * apart. */
static bool
takes_first(const struct script_method *m, const struct script_node *call)
{
    enum script_type type = call->argument_count > 0
                                ? kinds[method_argument_kind(m, 0)].type
                                : SCRIPT_ANY;

    return type == SCRIPT_ANY || type == call->arguments[0]->type;
}

static bool
find_method(const struct script_node *call, struct span name,
            struct script_method *out)
{
    const struct script_node *receiver = call->left;
    bool found = false;

    for (size_t i = 0; i < script_method_count() && receiver->class_name; i++) {
        struct script_method m = script_method(i);

        if (strcmp(m.class_name, receiver->class_name) != 0 ||
            m.is_static != (receiver->type == SCRIPT_CLASS) ||
            !span_is(name, m.name) || !takes_so_many(&m, call->argument_count))
            continue;
        /* The first row that fits by its number of arguments, unless a later
         * one fits the first argument's type, too.  So an error about a type
         * names a method that exists. */
        if (!found || takes_first(&m, call))
            *out = m;
        found = true;
    }
    return found;
}

static int
check_arguments(struct script_parser *p, const struct script_node *call)
{
    for (size_t i = 0; i < call->argument_count; i++) {
        const struct script_node *argument = call->arguments[i];
        int kind = method_argument_kind(&call->method, i);

        if (kinds[kind].type != SCRIPT_ANY &&
            kinds[kind].type != argument->type)
            return fail_at(p, argument->offset, "%s takes a %s, not %s",
                           call->method.name, kinds[kind].name,
                           script_describe(argument));
        /* A name that is known already is checked before anything runs. */
        if (kinds[kind].letter == 'm' && argument->done &&
            script_check_name(argument->value.text, p->err) != 0) {
            script_add_position(p->script->text, argument->offset, p->err);
            return -1;
        }
    }
    return 0;
}

int
script_resolve(struct script_parser *p, struct script_node *call,
               const struct script_token *name)
{
    struct script_method *m = &call->method;

    if (!find_method(call, name->text, m))
        return fail_unknown_method(p, call->left, name, call->argument_count);
    if (check_arguments(p, call) != 0)
        return -1;
    call->type = m->returns;
    call->class_name = m->returns != SCRIPT_INSTANCE ? NULL
                       : m->gives                    ? m->gives
                                                     : m->class_name;
    /* System.print(x) is x, so its type is that of its argument. */
    if (m->returns != SCRIPT_ANY)
        return 0;
    call->type = SCRIPT_NULL;
    if (call->argument_count > 0) {
        call->type = call->arguments[0]->type;
        call->class_name = call->arguments[0]->class_name;
    }
    return 0;
}

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

/* Prints a text; if it is no UTF-8, with \xhh for all bytes past ASCII, since
 * clients decode what they receive. */
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

/* System.print(x): prints a line, and returns x.  The output buffer's limit
 * and check_output() bound it. */
static enum step
system_print(struct script_call *call, struct error *err)
{
    if (call->argument_count > 0 && chain_prints(&call->arguments[0]))
        return chain_print(call, err);
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
     SCRIPT_SHORT, heapprof_state},
    {"HeapProf", "diagnose", "", false, SCRIPT_STRING, PRIVILEGE_PROFILE,
     SCRIPT_SLOW, heapprof_diagnose},
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
     SCRIPT_SHORT, heapprof_describe},
    {"HeapProf", "delete", "m", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_delete},
    {"HeapProf", "delete_like", "s", false, SCRIPT_STRING, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_delete_like},
    {"HeapProf", "pin", "m", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_pin},
    {"HeapProf", "unpin", "m", false, SCRIPT_INSTANCE, PRIVILEGE_CONTROL,
     SCRIPT_SLOW, heapprof_pin},
#define CPUPROF(name, takes, returns, kind, ...)                               \
    {                                                                          \
        "CpuProf", name, takes, false, returns, PRIVILEGE_PROFILE, kind,       \
            __VA_ARGS__                                                        \
    }
    {"CpuProf", "getInstance", "", true, SCRIPT_INSTANCE, 0, SCRIPT_PURE,
     heapprof_instance},
    CPUPROF("profile", "|nns", SCRIPT_INSTANCE, SCRIPT_SLOW, cpuprof_profile,
            .gives = "Profile"),
    CPUPROF("profile_wall", "|nn", SCRIPT_INSTANCE, SCRIPT_SLOW,
            cpuprof_profile, .gives = "Profile"),
    CPUPROF("snapshot", "|mnns", SCRIPT_STRING, SCRIPT_SLOW, cpuprof_snapshot),
    CPUPROF("snapshot", "n|ns", SCRIPT_STRING, SCRIPT_SLOW, cpuprof_snapshot),
    CPUPROF("snapshot_wall", "|mnn", SCRIPT_STRING, SCRIPT_SLOW,
            cpuprof_snapshot),
    CPUPROF("snapshot_wall", "n|n", SCRIPT_STRING, SCRIPT_SLOW,
            cpuprof_snapshot),
#undef CPUPROF
    {"System", "print", "|*", true, SCRIPT_ANY, 0, SCRIPT_SHORT, system_print},
#define EXECENV(name, takes, call)                                             \
    {"ExecEnv",         name,        takes, true, SCRIPT_STRING,               \
     PRIVILEGE_PROFILE, SCRIPT_SLOW, call},                                    \
    {                                                                          \
        "ExecEnv", name, takes, false, SCRIPT_STRING, PRIVILEGE_PROFILE,       \
            SCRIPT_SLOW, call                                                  \
    }
    {"ExecEnv", "getInstance", "", true, SCRIPT_INSTANCE, 0, SCRIPT_PURE,
     heapprof_instance},
    {"ExecEnv", "GetInstance", "", true, SCRIPT_INSTANCE, 0, SCRIPT_PURE,
     heapprof_instance},
    EXECENV("get_stack_trace_for_all_threads", "", execenv_all_threads),
    EXECENV("get_stack_trace_for_thread", "n|n", execenv_thread),
    EXECENV("get_stack_trace_for_function", "s", execenv_function),
#undef EXECENV
#define LEVER(name, takes, call)                                               \
    {                                                                          \
        "Jemalloc", name, takes, false, SCRIPT_STRING, PRIVILEGE_TUNE,         \
            SCRIPT_CHANGING, call                                              \
    }
    {"Jemalloc", "getInstance", "", true, SCRIPT_INSTANCE, 0, SCRIPT_PURE,
     heapprof_instance},
    LEVER("purge", "", jemalloc_purge),
    LEVER("decay", "nnn", jemalloc_decay),
    LEVER("background_threads", "bn", jemalloc_background),
    LEVER("flush_tcaches", "", jemalloc_flush_tcaches),
    LEVER("undo", "", jemalloc_undo),
#undef LEVER
    {"Jemalloc", "state", "", false, SCRIPT_STRING, PRIVILEGE_STATUS,
     SCRIPT_SHORT, jemalloc_state},
    {"Jemalloc", "risks", "", false, SCRIPT_STRING, PRIVILEGE_STATUS,
     SCRIPT_WAITING, jemalloc_risks},
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
    PROFILE("by_thread", "|b", chain_option),
    PROFILE("by_pool", "|b", chain_option),
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
    /* Profile's rows are the table's last, so its forms continue them and a
     * class's methods stand together. */
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
