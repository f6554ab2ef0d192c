/* test_profiler_state.c - every state of the profiler, and its description.
 */
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "controller.h"
#include "node_status.h"
#include "suite.h"

static const struct {
    struct node_status status;
    const char *word, *has, *lacks; /* of the text; NULL: anything */
} cases[] = {
    {{.state = NODE_ABSENT}, "unknown", "reason: no database with", "budget"},
    {{.state = NODE_GONE, .hello = {.active = 1}},
     "unknown",
     "ended at 1970-01-01 00:00:00 UTC; the next one that starts with this "
     "state directory is served",
     "deaths"},
    {{.state = NODE_GONE, .ending = "was killed by signal 9 (SIGKILL)"},
     "unknown",
     "UTC: it was killed by signal 9 (SIGKILL) (heapwire.deaths has more); the",
     "samples since"},
    {{.state = NODE_UNRESPONSIVE, .stopped = true, .hello = {.pid = 7}},
     "unknown",
     "the process is stopped by a signal",
     "database:"},
    {{.state = NODE_UNRESPONSIVE},
     "unknown",
     "not identified itself since",
     "pid 0"},
    {{.state = NODE_CONNECTED, .hello = {.allocator = AGENT_NO_JEMALLOC}},
     "no jemalloc",
     "heapwire-run --jemalloc auto",
     "\njemalloc: "},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_UNUSABLE},
      .note = "db has a jemalloc of its own"},
     "jemalloc that cannot be called",
     "is not possible in  (pid 0): db has a jemalloc of its own",
     "risk"},
    {{.state = NODE_CONNECTED,
      .hello = {.version = "5.3.0"},
      .note = "3 threads are never sampled"},
     "inactive",
     "\nrisk: 3 threads are never sampled\n",
     "reason:"},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_NO_PROF, .version = "5.3.0"}},
     "jemalloc without profiling",
     "built without --enable-prof",
     "risk"},
    /* Advice that fits how the jemalloc is called. */
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_NO_PROF,
                .mallctl = "je_mallctl",
                .exe = "/usr/bin/redis-server"},
      .knows = AGENT_KNOWS_OBJECT,
      .note = "redis-server"},
     "jemalloc without profiling",
     "in /usr/bin/redis-server (pid 0) was built without --enable-prof: it "
     "cannot profile; the program calls it directly, so a preloaded jemalloc "
     "does not replace it: build it with a jemalloc that was configured with "
     "--enable-prof (Redis, Valkey, KeyDB: make "
     "JEMALLOC_CONFIGURE_OPTS=--enable-prof)",
     "--jemalloc PATH"},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_NO_PROF,
                .mallctl = "_rjem_mallctl",
                .exe = "/usr/bin/ruff"},
      .knows = AGENT_KNOWS_OBJECT,
      .note = "ruff"},
     "jemalloc without profiling",
     "the feature profiling of tikv-jemallocator",
     "--jemalloc PATH"},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_NO_PROF,
                .version = "5.3.0",
                .mallctl = "duckdb_je_mallctl",
                .exe = "/usr/bin/python3.11"},
      .knows = AGENT_KNOWS_OBJECT,
      .note = "_duckdb.so"},
     "jemalloc without profiling",
     "jemalloc 5.3.0 of _duckdb.so in /usr/bin/python3.11 (pid 0) was built "
     "without",
     "--jemalloc PATH"},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_NO_PROF,
                .mallctl = "mallctl",
                .exe = "/usr/bin/db"},
      .knows = AGENT_KNOWS_OBJECT,
      .note = "libjemalloc.so.2"},
     "jemalloc without profiling",
     "preload a jemalloc that can (heapwire-run --jemalloc PATH)",
     "directly"},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_PROF_OFF,
                .version = "5.3.0",
                .malloc_conf_name = "JE_MALLOC_CONF"}},
     "opt.prof is off",
     "JE_MALLOC_CONF=prof:true,prof_active:false",
     "ignores"},
    {{.state = NODE_CONNECTED,
      .attached = true,
      .unprepared = true,
      .hello = {.allocator = AGENT_PROF_OFF,
                .malloc_conf_name = "JEMALLOC_CONF"}},
     "opt.prof is off",
     "reason: attached: heap profiling cannot be switched on",
     "profiling = off"},
    {{.state = NODE_CONNECTED,
      .hello = {.allocator = AGENT_PROF_OFF,
                .secure = 1,
                .malloc_conf_name = "MALLOC_CONF"}},
     "opt.prof is off",
     "ignores MALLOC_CONF; compile in malloc_conf or /etc/malloc.conf",
     NULL},
    {{.state = NODE_CONNECTED, .hello = {.version = "5.3.0", .lg_sample = 19}},
     "inactive",
     "sample rate: one in 524288 bytes (lg_sample 19)\nsamples: no profile was "
     "taken yet\nbudget: none, profiling goes on whatever it costs\nrisk: ",
     "samples since"},
    {{.state = NODE_CONNECTED,
      .hello = {.active = 1,
                .active_since_ms = 1000,
                .active_until_ms = 61000,
                .changes = 3,
                .resets = 2},
      .overhead = {.budget_cpus = .02}},
     "active",
     "samples since: 1970-01-01 00:00:01 UTC, pauses included\n"
     "active until: 1970-01-01 00:01:01 UTC\nchanges: 3, resets: 2\n",
     "estimated"},
    {{.state = NODE_CONNECTED,
      .profiled = true,
      .profiled_ms = 5000,
      .hello = {.active = 1, .active_since_ms = 1000}},
     "active, nothing sampled yet",
     "active until: it is switched off; enable_prof(seconds) does not shorten "
     "that\n",
     NULL},
    {{.state = NODE_CONNECTED,
      .profiled = true,
      .taken = {true, 77},
      .hello = {.active = 1, .opt_prof = AGENT_PROF_RECORDED}},
     "active",
     "samples: 77 taken; 0 in the profile of ",
     "pages"},
    {{.state = NODE_CONNECTED,
      .taken = {true, 0},
      .hello = {.active = 1, .opt_prof = AGENT_PROF_RECORDED}},
     "active, nothing sampled yet",
     "samples: 0 taken; no profile was taken yet\n",
     NULL},
    {{.state = NODE_CONNECTED,
      .profiled = true,
      .samples = 2560,
      .profiled_ms = 5000,
      .hello = {.active = 1, .version = "5.3.0"}},
     "active",
     "samples: 2560 in the profile of 1970-01-01 00:00:05 UTC, which may hold "
     "40.0 MB of pages",
     NULL},
    {{.state = NODE_CONNECTED,
      .hello = {.active = 1},
      .overhead = {.estimated = true,
                   .bytes_per_second = 100 << 20,
                   .samples_per_second = 200,
                   .sample_us = 5,
                   .cpus = .001,
                   .measured_before = true,
                   .cpus_before = .5,
                   .measured_since = true,
                   .cpus_since = .51,
                   .budget_cpus = .01}},
     "active",
     "overhead, estimated: 0.100 % of a CPU (200 samples a second of 100.0 MB "
     "a second or more, 5.0 us each); 0.0 MB more metadata\n"
     "CPU time of the whole process, with all its own work, which is not the "
     "cost of profiling: 50.0 % of a CPU before profiling, 51.0 % since it is "
     "active\nbudget: 1.00 % of a CPU\n",
     "guard"},
    {{.state = NODE_CONNECTED},
     "inactive",
     "agent: it is of an older heapwire and lacks newer functions",
     NULL},
    {{.state = NODE_CONNECTED,
      .overhead = {.switched_off_ms = 1000, .reason = "it cost too much"},
      .knows = AGENT_KNOWS_ALLOCATORS},
     "inactive",
     "switched off by the overhead guard: 1970-01-01 00:00:01 UTC, because it "
     "cost too much\n",
     "agent:"},
    {{.state = NODE_CONNECTED,
      .overhead = {.switched_off_ms = 1000, .reason = "it cost too much"},
      .unguarded_ms = 2000},
     "inactive",
     "switched off by the database's agent: 1970-01-01 00:00:02 UTC, because "
     "heapwired was away for longer than guard_timeout\n",
     "overhead guard:"},
    {{.state = NODE_CONNECTED, .unguarded_ms = 2000, .replaced_ms = 3000},
     "inactive",
     "\noff: 1970-01-01 00:00:03 UTC, because the process in which it was on "
     "has ended, and another one is served since: enable_prof()",
     "switched off by"},
};

START_TEST(every_state_is_distinguished_and_explained)
{
    const struct node_status *status = &cases[_i].status;
    struct buffer text;
    char first[128];

    buffer_init(&text, 16384);
    profiler_state_write(status, &text);
    snprintf(first, sizeof(first), "state: %s\n", cases[_i].word);
    ck_assert_msg(strncmp(text.data, first, strlen(first)) == 0, "%s",
                  text.data);
    ck_assert_str_eq(profiler_state_name(profiler_state_of(status)),
                     cases[_i].word);
    ck_assert_msg(strstr(text.data, cases[_i].has) != NULL, "%s", text.data);
    if (cases[_i].lacks)
        ck_assert_msg(strstr(text.data, cases[_i].lacks) == NULL, "%s",
                      text.data);
    ck_assert_int_eq(text.data[text.size - 1], '\n');
    buffer_fini(&text);
}
END_TEST

START_TEST(risks_take_one_line_where_profiles_are_possible)
{
    struct node_status status = {.state = NODE_CONNECTED,
                                 .hello = {.version = "5.2.1"}};
    struct buffer text;

    buffer_init(&text, 8192);
    profiler_state_risks(&status, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "prof_active:true; sizes in"));
    ck_assert_ptr_null(strchr(text.data, '\n'));
    buffer_clear(&text);
    status.hello.allocator = AGENT_PROF_OFF;
    profiler_state_risks(&status, &text);
    ck_assert_uint_eq(text.size, 0);
    buffer_fini(&text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("profiler_state");
    TCase *tc = tcase_create("profiler_state");

    tcase_add_loop_test(tc, every_state_is_distinguished_and_explained, 0,
                        sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tc, risks_take_one_line_where_profiles_are_possible);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
