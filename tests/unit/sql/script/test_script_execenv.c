/* test_script_execenv.c - ExecEnv, from a script to the text of threads. */
#include <string.h>

#include "arena.h"
#include "await.h"
#include "errors.h"
#include "observe.h"
#include "script.h"
#include "sql.h"
#include "suite.h"
#include "threads.h"

static const uint64_t busy[] = {0x1000};
static struct thread_entry entries[] = {{.tid = 41,
                                         .name = "main",
                                         .state = 'S',
                                         .wchan = "do_poll",
                                         .why = "nothing allows it"},
                                        {.tid = 42,
                                         .name = "work",
                                         .state = 'R',
                                         .wchan = "",
                                         .why = "",
                                         .addresses = busy,
                                         .depth = 1}};
static struct thread_list list;
static struct arena *arena;
static struct await await;
static struct script_host host;
static struct error err;
static unsigned asked;
static const char *refuse; /* NULL: answer */

#define MAIN  "tid: 41:main\nstate: S do_poll\nno stack: nothing allows it\n\n"
#define WORK  "tid: 42:work\nstate: R\n#0  0x0000000000001000 ??\n\n"
#define TOTAL "2 threads, 1 stack\n\n"

struct seat *
controller_observe(struct controller *controller,
                   const struct observe_request *request, struct waker waker,
                   struct error *failure)
{
    (void)waker, (void)failure;
    ck_assert_ptr_eq(controller, (void *)&host);
    ck_assert_int_eq(request->kind, OBSERVE_THREADS);
    ck_assert_str_eq(request->owner, "admin");
    asked++;
    return (struct seat *)&list;
}

int
controller_observe_wait(struct seat *seat, struct await *by,
                        struct observe_result *result, struct error *failure)
{
    ck_assert_ptr_eq(seat, (void *)&list);
    ck_assert_ptr_eq(by, &await);
    if (refuse)
        error_set(failure, ER_UNKNOWN, "%s", refuse);
    else
        result->threads = thread_list_ref(&list);
    return refuse ? -1 : 0;
}

static void
set_up(void)
{
    arena = arena_new(24 << 20);
    await_init(&await, NULL, NULL);
    host = (struct script_host){.controller = (struct controller *)&host,
                                .user = "admin",
                                .await = &await};
    list = (struct thread_list){
        .list = entries, .count = 2, .pid = 41, .references = 1};
}

static void
tear_down(void)
{
    ck_assert_int_eq(list.references, 1);
    await_fini(&await);
    arena_free(arena);
}

static const struct {
    const char *script, *output;
} scripts[] = {
    {"System.print(ExecEnv.get_stack_trace_for_all_threads())",
     MAIN WORK TOTAL},
    {"System.print(ExecEnv.getInstance().get_stack_trace_for_all_threads())",
     MAIN WORK TOTAL},
    {"System.print(ExecEnv.GetInstance().get_stack_trace_for_thread(42))",
     WORK "\n"},
    {"System.print(ExecEnv.get_stack_trace_for_thread(41, 3000))", MAIN "\n"},
    {"System.print(ExecEnv.get_stack_trace_for_function(\"none\"))",
     "no stack has such a function\n\n0 of 2 threads, no stack\n\n"},
    {"System.print(ExecEnv.get_stack_trace_for_function(\"\"))",
     MAIN WORK TOTAL},
};

START_TEST(a_script_prints_stacks)
{
    struct span text = {scripts[_i].script, strlen(scripts[_i].script)};
    struct script *script = script_parse(text, arena, &err);

    ck_assert_msg(script != NULL, "%s", err.text);
    ck_assert_int_eq(script->longest, SCRIPT_SLOW);
    ck_assert_int_eq(script_check_privileges(script, PRIVILEGE_PROFILE, &err),
                     0);
    ck_assert_int_eq(
        script_check_privileges(script, ~(uint32_t)PRIVILEGE_PROFILE, &err),
        -1);
    ck_assert_msg(script_run(script, &host, &err) == STEP_DONE, "%s", err.text);
    ck_assert_str_eq(script->output.data, scripts[_i].output);
    ck_assert_uint_eq(asked, 1);
    script_free(script);
}
END_TEST

static const struct {
    const char *script, *refuse, *message;
} faults[] = {
    {"ExecEnv.get_stack_trace_for_thread(7)", NULL,
     "the database has no thread 7"},
    {"ExecEnv.get_stack_trace_for_thread(0)", NULL,
     "line 1, column 36: tid takes a whole number from 1"},
    {"ExecEnv.get_stack_trace_for_thread(1.5)", NULL, "a whole number"},
    {"ExecEnv.get_stack_trace_for_all_threads()", "ptrace may not stop it",
     "ptrace may not stop it"},
};

START_TEST(what_fails_says_why)
{
    struct span text = {faults[_i].script, strlen(faults[_i].script)};
    struct script *script = script_parse(text, arena, &err);

    refuse = faults[_i].refuse;
    ck_assert_msg(script != NULL, "%s", err.text);
    ck_assert_int_eq(script_run(script, &host, &err), STEP_FAIL);
    ck_assert_msg(strstr(err.text, faults[_i].message) != NULL, "%s", err.text);
    script_free(script);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("script_execenv");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_script_prints_stacks, 0,
                        sizeof(scripts) / sizeof(scripts[0]));
    tcase_add_loop_test(tcase, what_fails_says_why, 0,
                        sizeof(faults) / sizeof(faults[0]));
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
