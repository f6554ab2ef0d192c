/* test_config.c - the configuration file and each thing wrong with it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "errors.h"
#include "suite.h"
#include "auth.h"

#define HEX40 "0123456789abcdef0123456789ABCDEF01234567"
#define HEX64 HEX40 "0123456789abcdef01234567"
#define AUTH  "auth = sha2 " HEX64 "\n"
#define PRIV  "privileges = status\n"

static struct config config;
static struct config_faults faults;

static void
setup(void)
{
    memset(&config, 0, sizeof(config));
    config_faults_init(&faults);
}

static void
teardown(void)
{
    config_fini(&config);
    config_faults_fini(&faults);
}

static int
parse(const char *text)
{
    return config_parse(&config, "f", text, strlen(text), &faults);
}

START_TEST(a_whole_file_is_read)
{
    struct user user;
    struct span alice = {"alice", 5};

    ck_assert_int_eq(parse("# a comment\n"
                           "\n"
                           "[node]\r\n"
                           "  id = 7 ; the seventh\n"
                           "\tlisten=[::1]:99\n"
                           "state_dir = /a/b\nsocket = /c/d\nuser = nobody\n"
                           "exe = /bin/sh\njemalloc = no\nlog = syslog\n"
                           "statement_timeout = 5\n"
                           "[user alice]\n"
                           "auth = native+sha2 " HEX40 " " HEX64 "\n"
                           "privileges = status, profile\n"
                           "[user   bob]\n" AUTH PRIV),
                     0);
    ck_assert_uint_eq(faults.count, 0);
    ck_assert_uint_eq(config.node_id, 7);
    ck_assert_str_eq(config.listen.text, "::1");
    ck_assert_uint_eq(config.listen.port, 99);
    ck_assert_str_eq(config.state_dir, "/a/b");
    ck_assert_str_eq(config.socket, "/c/d");
    ck_assert_str_eq(config.user, "nobody");
    ck_assert_str_eq(config.jemalloc, "no");
    ck_assert_str_eq(config.log, "syslog");
    ck_assert_uint_eq(config.statement_timeout_s, 5);
    ck_assert_uint_eq(users_count(config.users), 2);
    ck_assert(users_any_sha2_only(config.users));
    ck_assert_int_eq(users_find(config.users, alice, &user, NULL), 0);
    ck_assert_uint_eq(user.privileges, 3);
    ck_assert(user.verifier.has_native);
}
END_TEST

START_TEST(the_budget_of_profiling_is_read)
{
    setting_defaults(&config);
    ck_assert_double_eq(config.budget_percent, 1);
    ck_assert_int_eq(parse("[profiler]\nbudget_percent = 0.25\n"), 0);
    ck_assert_double_eq(config.budget_percent, .25);
}
END_TEST

START_TEST(how_long_heapwired_may_be_away_is_read)
{
    setting_defaults(&config);
    ck_assert_uint_eq(config.heartbeat_s, 30);
    ck_assert_uint_eq(config.guard_s, 60);
    ck_assert_int_eq(parse("[node]\nheartbeat = 2m\n"
                           "[profiler]\nguard_timeout = 5\n"),
                     0);
    ck_assert_uint_eq(config.heartbeat_s, 120);
    ck_assert_uint_eq(config.guard_s, 5);
}
END_TEST

START_TEST(how_the_database_is_started_is_read)
{
    setting_defaults(&config);
    ck_assert_int_eq(config.profiling, CONFIG_PROFILING_PREPARED);
    ck_assert_str_eq(config.allocator, "auto");
    ck_assert_str_eq(config.mallctl, "");
    ck_assert_str_eq(config.process, "parent");
    ck_assert_uint_eq(config.start_timeout_s, 20);
    ck_assert_int_eq(parse("[node]\nprofiling = on\n"
                           "allocator = _rjem_mallctl\n"
                           "mallctl = libserver.so:0x1a2b30\n"
                           "process = child\nstart_timeout = 2m\n"),
                     0);
    ck_assert_int_eq(config.profiling, CONFIG_PROFILING_ON);
    ck_assert_str_eq(config.allocator, "_rjem_mallctl");
    ck_assert_str_eq(config.mallctl, "libserver.so:0x1a2b30");
    ck_assert_str_eq(config.process, "child");
    ck_assert_uint_eq(config.start_timeout_s, 120);
    ck_assert_int_eq(parse("[node]\nprofiling = off\nstart_timeout = 0\n"), 0);
    ck_assert_int_eq(config.profiling, CONFIG_PROFILING_OFF);
    ck_assert_uint_eq(config.start_timeout_s, 0);
}
END_TEST

START_TEST(how_many_snapshots_are_kept_is_read)
{
    setting_defaults(&config);
    ck_assert_uint_eq(config.keep, 64);
    ck_assert_uint_eq(config.keep_bytes, 1 << 30);
    ck_assert_uint_eq(config.keep_age_s, 0);
    ck_assert_int_eq(parse("[node]\nid = 3\n[snapshots]\nkeep = 256\n"
                           "keep_bytes = 2G\nkeep_age = 7d\n"),
                     0);
    ck_assert_uint_eq(config.keep, 256);
    ck_assert_uint_eq(config.keep_bytes, 2ull << 30);
    ck_assert_uint_eq(config.keep_age_s, 7 * 86400);
}
END_TEST

START_TEST(marks_and_linger_are_read)
{
    setting_defaults(&config);
    ck_assert_uint_eq(config.linger_s, 900);
    ck_assert_uint_eq(config.marks.percents, 3);
    ck_assert_uint_eq(config.marks.at_percent[2], 95);
    ck_assert_uint_eq(config.marks.growth + config.marks.every_ms, 0);
    ck_assert_uint_eq(config.marks.min_interval_ms, 60000);
    ck_assert_uint_eq(config.marks.hours_left, 6);
    ck_assert_uint_eq(config.marks.ring_ms, 3600000);
    ck_assert_uint_eq(config.marks.budgets_ms, 60000);
    ck_assert_int_eq(parse("[snapshots]\n"
                           "at_percent = 50 ,70,  96\ngrowth = 256M\n"
                           "every = 1h\nmin_interval = 5\n"
                           "ring = 1\nhours_left = 12\n"
                           "[budgets]\nevery = 5m\n"
                           "[node]\nlinger = 2m\n"),
                     0);
    ck_assert_uint_eq(config.linger_s, 120);
    ck_assert_uint_eq(config.marks.percents, 3);
    ck_assert_uint_eq(config.marks.at_percent[0], 50);
    ck_assert_uint_eq(config.marks.at_percent[1], 70);
    ck_assert_uint_eq(config.marks.at_percent[2], 96);
    ck_assert_uint_eq(config.marks.growth, 256 << 20);
    ck_assert_uint_eq(config.marks.every_ms, 3600000);
    ck_assert_uint_eq(config.marks.min_interval_ms, 5000);
    ck_assert_uint_eq(config.marks.hours_left, 12);
    ck_assert_uint_eq(config.marks.ring_ms, 1000);
    ck_assert_uint_eq(config.marks.budgets_ms, 300000);
    ck_assert_int_eq(parse("[snapshots]\nat_percent = none\n"), 0);
    ck_assert_uint_eq(config.marks.percents, 0);
    ck_assert_int_eq(parse("[snapshots]\nring = 0\nhours_left = 0\n"), 0);
    ck_assert_uint_eq(config.marks.hours_left + config.marks.ring_ms, 0);
}
END_TEST

START_TEST(symbol_indexes_are_read)
{
    setting_defaults(&config);
    ck_assert(config.symbols_index);
    ck_assert_uint_eq(config.symbols_bytes, 1 << 30);
    ck_assert_uint_eq(config.symbols_memory, 256 << 20);
    ck_assert_int_eq(parse("[symbols]\nindex = off\nkeep_bytes = 10M\n"
                           "memory = 3G\n"),
                     0);
    ck_assert(!config.symbols_index);
    ck_assert_uint_eq(config.symbols_bytes, 10 << 20);
    ck_assert_uint_eq(config.symbols_memory, 3ull << 30);
    ck_assert_int_eq(parse("[symbols]\nindex = on\nmemory = 16777216\n"), 0);
    ck_assert(config.symbols_index);
}
END_TEST

static const struct {
    const char *text;
    const char *fault; /* begins so */
} wrong[] = {
    {"[symbols]\nindex = yes\n", "f:2: index = yes: must be on or off"},
    {"[symbols]\nindex =\n", "f:2: index = : must be on or off"},
    {"[symbols]\nkeep_bytes = 0\n", "f:2: keep_bytes = 0: must be a numb"},
    {"[symbols]\nkeep_bytes = 1x\n", "f:2: keep_bytes = 1x: must be a nu"},
    {"[symbols]\nmemory = 15M\n", "f:2: memory = 15M: must be a number of"},
    {"[symbols]\nmemory = 4G\n", "f:2: memory = 4G: must be a number of"},
    {"[symbols]\nkeep = 1\n", "f:2: unknown key 'keep' in [symbols] (allo"},
    {"[symbols]\n[symbols]\n", "f:2: [symbols] is given twice"},
    {"[snapshots]\n[snapshots]\n", "f:2: [snapshots] is given twice"},
    {"[snapshots]\nid = 1\n", "f:2: unknown key 'id' in [snapshots] (allow"},
    {"[snapshots]\nkeep = 0\n", "f:2: keep = 0: must be a number of sna"},
    {"[snapshots]\nkeep = 257\n", "f:2: keep = 257: must be a number of"},
    {"[snapshots]\nkeep_bytes = 0\n", "f:2: keep_bytes = 0: must be a "},
    {"[snapshots]\nkeep_bytes = 1GB\n", "f:2: keep_bytes = 1GB: must be"},
    {"[snapshots]\nkeep_bytes = -1\n", "f:2: keep_bytes = -1: must be a"},
    {"[snapshots]\nkeep_age = 11y\n", "f:2: keep_age = 11y: must be a ti"},
    {"[node]\nsnapshots.keep = 1\n", "f:2: unknown key 'snapshots.keep'"},
    {"[node]\nkeep = 1\n", "f:2: unknown key 'keep' in [node] (allowed"},
    {"[node]\nevery = 1\n", "f:2: unknown key 'every' in [node] (allowed: id"},
    {"[snapshots]\nat_percent =\n", "f:2: at_percent = : must be at most 8"},
    {"[snapshots]\nat_percent = 97\n", "f:2: at_percent = 97: must be at mo"},
    {"[snapshots]\nat_percent = 0\n", "f:2: at_percent = 0: must be at most"},
    {"[snapshots]\nat_percent = 80,\n", "f:2: at_percent = 80,: must be at "},
    {"[snapshots]\nat_percent = 9,8\n", "f:2: at_percent = 9,8: must be at "},
    {"[snapshots]\nat_percent = 8 9\n", "f:2: at_percent = 8 9: must be at "},
    {"[snapshots]\nat_percent = 1,2,3,4,5,6,7,8,9\n", "f:2: at_percent = 1,"},
    {"[snapshots]\ngrowth = 1MB\n", "f:2: growth = 1MB: must be a number of"},
    {"[snapshots]\ngrowth = 9999999T\n", "f:2: growth = 9999999T: must be a"},
    {"[snapshots]\nevery = 5\n", "f:2: every = 5: must be a time such as"},
    {"[snapshots]\nevery = -5\n", "f:2: every = -5: must be a time such as"},
    {"[snapshots]\nring = 1y\n", "f:2: ring = 1y: must be a time such as"},
    {"[snapshots]\nring = -1\n", "f:2: ring = -1: must be a time such as"},
    {"[snapshots]\nhours_left = 9999\n",
     "f:2: hours_left = 9999: must be a number of hours from 1 to 8760, "
     "or 0 for off"},
    {"[snapshots]\nhours_left = 1h\n", "f:2: hours_left = 1h: must be"},
    {"[snapshots]\nmin_interval = 0\n", "f:2: min_interval = 0: must be a t"},
    {"[profiler]\nbudget_percent = -1\n", "f:2: budget_percent = -1: must be"},
    {"[profiler]\nbudget_percent = 1e9\n", "f:2: budget_percent = 1e9: must"},
    {"[profiler]\nbudget_percent = 801\n", "f:2: budget_percent = 801: must"},
    {"[profiler]\nbudget_percent = 1.2.3\n", "f:2: budget_percent = 1.2.3:"},
    {"[profiler]\nbudget_percent = .\n", "f:2: budget_percent = .: must be"},
    {"[profiler]\nbudget_percent =\n", "f:2: budget_percent = : must be a"},
    {"[profiler]\nlinger = 1\n", "f:2: unknown key 'linger' in [profiler] ("},
    {"[node]\nlinger = 1w\n", "f:2: linger = 1w: must be a time such as 900"},
    {"[node]\nprofiling = yes\n", "f:2: profiling = yes: must be on, prep"},
    {"[node]\nprofiling =\n", "f:2: profiling = : must be on, prepared or o"},
    {"[node]\nallocator =\n", "f:2: allocator = : must be 1 to 1023 bytes"},
    {"[node]\nmallctl = a\tb\n", "f:2: mallctl = a\tb: must be 1 to 1023 b"},
    {"[node]\nallocator_frames = *\n", "f:2: allocator_frames = *: must be na"},
    {"[node]\nprocess =\n", "f:2: process = : must be 1 to 255 bytes with"},
    {"[node]\nstart_timeout = -1\n", "f:2: start_timeout = -1: must be a ti"},
    {"[node]\nstart_timeout = 2d\n", "f:2: start_timeout = 2d: must be a ti"},
    {"[node]\nheartbeat = 2\n", "f:2: heartbeat = 2: must be a time from 3 "},
    {"[profiler]\nguard_timeout = 4\n",
     "f:2: guard_timeout = 4: must be a time from 5 "},
    {"[node]\nlinger = 8d\n", "f:2: linger = 8d: must be a time such as 900"},
    {"id = 1\n", "f:1: 'id' stands before the first section"},
    {"\n[nodes]\nid = x\n", "f:2: unknown section [nodes]"},
    {"[node\n", "f:1: the section's name has no ']'"},
    {"[node]\n[node]\n", "f:2: [node] is given twice"},
    {"[node]\nhello\n", "f:2: neither '[section]' nor 'key = value'"},
    {"[node]\nids = 1\n", "f:2: unknown key 'ids' in [node] (allowed: id, "},
    {"[node]\nid = 1\nid = 2\n", "f:3: 'id' is given twice"},
    {"[node]\nid = 0\n", "f:2: id = 0: must be a number from 1 to 4294967295"},
    {"[node]\nid = -1\n", "f:2: id = -1: must be"},
    {"[node]\nid = 4294967296\n", "f:2: id = 4294967296: must be"},
    {"[node]\nid = 1x\n", "f:2: id = 1x: must be"},
    {"[node]\nid =\n", "f:2: id = : must be"},
    {"[node]\nstatement_timeout = 0\n", "f:2: statement_timeout = 0: must be"},
    {"[node]\nlisten = 9036\n", "f:2: listen = 9036: must be ADDRESS:PORT"},
    {"[node]\nlisten = localhost:1\n", "f:2: listen = localhost:1: must be"},
    {"[node]\nlisten = 127.0.0.1:65536\n", "f:2: listen = 127.0.0.1:65536: mu"},
    {"[node]\nlisten = ::1:99\n", "f:2: listen = ::1:99: must be ADDRESS"},
    {"[node]\nlisten = [::1:99\n", "f:2: listen = [::1:99: must be ADDRESS"},
    {"[node]\nlisten = 10.0.0.256:1\n", "f:2: listen = 10.0.0.256:1: must"},
    {"[node]\nlisten = example.org:1\n", "f:2: listen = example.org:1: must"},
    {"[node]\ntls_cert =\n", "f:2: tls_cert = : must be a path"},
    {"[node]\ntls_key =\n", "f:2: tls_key = : must be a path"},
    {"[node]\nrequire_tls = on\n", "f:2: require_tls = on: must be yes or no"},
    {"[node]\nstate_dir = /123456789/123456789/123456789/123456789/123456789"
     "/123456789/123456789/123456789/123456789/123456789\n",
     "f:2: state_dir = /123456789/123456789/123456789/123456789/123456789"
     "/123456789/123456789/123456789/123456789/123456789: must be a path of "
     "at most 90 bytes"},
    {"[node]\nstate_dir =\n", "f:2: state_dir = : must be a path"},
    {"[node]\njemalloc = maybe\n", "f:2: jemalloc = maybe: must be auto, no"},
    {"[node]\nlog = nowhere\n", "f:2: log = nowhere: must be stderr, syslog"},
    {"[node]\nuser =\n", "f:2: user = : must be the name of a user"},
    {"[user]\n", "f:1: unknown section [user]"},
    {"[user ]\n", "f:1: [user ]: a user's name must be"},
    {"[user root]\n" AUTH PRIV,
     "f:1: [user root]: the name 'root' is reserved"},
    {"[user a b]\n" AUTH PRIV, "f:1: [user a b]: a user's name must be"},
    {"[user 123456789012345678901234567890123]\n" AUTH PRIV,
     "f:1: [user 123456789012345678901234567890123]: a user's name must"},
    {"[user a]\n" AUTH, "f:1: [user a] has no line 'privileges = ...'"},
    {"[user a]\n" PRIV, "f:1: [user a] has no line 'auth = ...'"},
    {"[user a]\n" AUTH PRIV "[user a]\n" AUTH PRIV,
     "f:4: user 'a' exists already"},
    {"[user a]\n" AUTH AUTH PRIV, "f:3: 'auth' is given twice"},
    {"[user a]\n" AUTH PRIV PRIV, "f:4: 'privileges' is given twice"},
    {"[user a]\n" AUTH PRIV "password = x\n",
     "f:4: unknown key 'password' in [user a]"},
    {"[user a]\nauth = plain x\n" PRIV,
     "f:2: auth of user 'a': must be 'native+sha2 <40 hex digits>"},
    {"[user a]\n" AUTH "privileges = god\n", "f:3: privileges of user 'a': "},
    {"[node]\nlog = /"
     "0123456789012345678901234567890123456789012345678901234567890123456789"
     "0123456789012345678901234567890123456789012345678901234567890123456789"
     "0123456789012345678901234567890123456789012345678901234567890123456789"
     "\n",
     "f:2: the line is longer than 190 bytes"},
};

START_TEST(each_fault_is_reported_with_its_line)
{
    ck_assert_int_eq(parse(wrong[_i].text), -1);
    ck_assert_uint_eq(faults.count, 1);
    ck_assert_msg(strncmp(faults.text.data, wrong[_i].fault,
                          strlen(wrong[_i].fault)) == 0,
                  "%s", faults.text.data);
    ck_assert_ptr_eq(strchr(faults.text.data, '\n') + 1,
                     faults.text.data + faults.text.size);
}
END_TEST

START_TEST(a_verifier_is_never_repeated)
{
    ck_assert_int_eq(parse("[user a]\nauth = sha2 5ec4e7\n" PRIV), -1);
    ck_assert_ptr_null(strstr(faults.text.data, "5ec4e7"));
}
END_TEST

START_TEST(faults_have_a_ceiling)
{
    char text[16 * 200] = "";

    for (int i = 0; i < 200; i++)
        strcat(text, "rubbish\n");
    ck_assert_int_eq(parse(text), -1);
    ck_assert_uint_eq(faults.count, 200);
    ck_assert_uint_lt(faults.text.size, 4096);
}
END_TEST

START_TEST(a_nul_byte_is_reported)
{
    static const char text[] = "[node]\nid = 1\0\n";

    ck_assert_int_eq(
        config_parse(&config, "f", text, sizeof(text) - 1, &faults), -1);
    ck_assert_ptr_nonnull(strstr(faults.text.data, "f:2: the line has a NUL"));
}
END_TEST

/* Files */

static char directory[] = "/tmp/hw-config-XXXXXX";
static char path[64];

static void
write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void
setup_files(void)
{
    memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/c", directory);
    setup();
}

static void
teardown_files(void)
{
    teardown();
    unlink(path);
    rmdir(directory);
}

static int
load(const char *id)
{
    struct config_arguments args = {.file = path};

    args.values[CONFIG_ID] = id;
    config_fini(&config);
    config_faults_fini(&faults);
    config_faults_init(&faults);
    return config_load(&config, &args, &faults);
}

START_TEST(a_file_with_users_is_private)
{
    static const mode_t bad[] = {0640, 0604, 0644, 0660, 0601, 0666};

    write_file("[user a]\n" AUTH PRIV, 0600);
    ck_assert_int_eq(load(NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(chmod(path, bad[i]), 0);
        ck_assert_int_eq(load(NULL), -1);
        ck_assert_ptr_nonnull(strstr(faults.text.data, "chmod 600"));
    }
}
END_TEST

/* Of the user that heapwired becomes. */
START_TEST(roots_file_may_have_a_group_that_reads_it)
{
    static const struct {
        uid_t uid;
        gid_t gid;
        mode_t mode;
        int rc;
    } cases[] = {{0, 1, 0640, 0},  {0, 1, 0600, 0},  {0, 0, 0640, -1},
                 {0, 1, 0644, -1}, {0, 1, 0660, -1}, {0, 1, 0650, -1},
                 {1, 1, 0640, -1}, {1, 1, 0600, -1}};

    if (geteuid() != 0)
        return;
    write_file("[user a]\n" AUTH PRIV, 0600);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(chown(path, cases[i].uid, cases[i].gid), 0);
        ck_assert_int_eq(chmod(path, cases[i].mode), 0);
        ck_assert_int_eq(load(NULL), cases[i].rc);
        if (cases[i].rc != 0 && !(cases[i].mode & S_IWGRP))
            ck_assert_ptr_nonnull(strstr(faults.text.data, "chown root:GROUP"));
    }
}
END_TEST

START_TEST(a_file_without_users_may_be_read_but_not_written)
{
    write_file("[node]\nid = 3\n", 0644);
    ck_assert_int_eq(load(NULL), 0);
    ck_assert_int_eq(chmod(path, 0664), 0);
    ck_assert_int_eq(load(NULL), -1);
}
END_TEST

START_TEST(only_regular_files_are_read)
{
    ck_assert_int_eq(load(NULL), -1);
    ck_assert_ptr_nonnull(strstr(faults.text.data, "cannot be opened"));
    ck_assert_int_eq(symlink("/etc/hostname", path), 0);
    ck_assert_int_eq(load(NULL), -1);
    ck_assert_ptr_nonnull(strstr(faults.text.data, "symbolic link"));
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(load(NULL), -1);
    ck_assert_ptr_nonnull(strstr(faults.text.data, "not a regular file"));
}
END_TEST

START_TEST(addresses_that_others_reach_require_tls)
{
    static const struct {
        const char *text;
        bool required;
    } cases[] = {
        {"listen = 127.0.0.1:1", false},
        {"listen = 127.9.8.7:1", false},
        {"listen = [::1]:1", false},
        {"listen = none", false},
        {"listen = 0.0.0.0:1", true},
        {"listen = 192.168.0.1:1", true},
        {"listen = [::]:1", true},
        {"listen = [fe80::1]:1", true},
        {"listen = [::ffff:127.0.0.1]:1", true},
        {"listen = 0.0.0.0:1\nrequire_tls = no", true},
        {"require_tls = yes", true},
        {"require_tls = no", false},
    };
    char text[128];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "[node]\n%s\n", cases[i].text);
        write_file(text, 0600);
        ck_assert_msg(load(NULL) == 0, "%s", faults.text.data);
        ck_assert_msg(config_requires_tls(&config) == cases[i].required, "%s",
                      text);
    }
}
END_TEST

START_TEST(http_has_its_port_wherever_there_is_tcp)
{
    static const char *const cases[][2] = {
        {"", "127.0.0.1:9037"},
        {"listen = 127.0.0.1:3307", "127.0.0.1:9037"},
        {"listen = 0.0.0.0:9036", "127.0.0.1:9037"},
        {"listen = none", "none"},
        {"listen = 127.0.0.1:0", "none"},
        {"listen = none\nhttp = [::1]:80", "[::1]:80"},
        {"http = none", "none"},
    };
    char text[CONFIG_ADDRESS_TEXT];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "[node]\n%s\n", cases[i][0]);
        write_file(text, 0600);
        ck_assert_msg(load(NULL) == 0, "%s", faults.text.data);
        config_address_text(&config.http, text, sizeof(text));
        ck_assert_str_eq(text, cases[i][1]);
    }
}
END_TEST

START_TEST(certificate_and_key_come_together)
{
    write_file("[node]\ntls_cert = /a\n", 0600);
    ck_assert_int_eq(load(NULL), -1);
    ck_assert_ptr_nonnull(
        strstr(faults.text.data, "tls_cert: tls_key must be"));
    write_file("[node]\ntls_key = /a\n", 0600);
    ck_assert_int_eq(load(NULL), -1);
    ck_assert_ptr_nonnull(
        strstr(faults.text.data, "tls_key: tls_cert must be"));
    write_file("[node]\ntls_cert = /a\ntls_key = /b\n", 0600);
    ck_assert_int_eq(load(NULL), 0);
    ck_assert_str_eq(config.tls_cert, "/a");
    ck_assert_str_eq(config.tls_key, "/b");
}
END_TEST

START_TEST(the_command_line_has_the_last_word)
{
    char expected[128];

    write_file("[node]\nid = 3\nlisten = none\n", 0600);
    ck_assert_int_eq(load("4"), 0);
    ck_assert_uint_eq(config.node_id, 4);
    ck_assert(config.listen.none);
    ck_assert_uint_eq(config.statement_timeout_s, 60);
    if (geteuid() == 0) {
        snprintf(expected, sizeof(expected), "/run/heapwire/4/mysql.sock");
        ck_assert_str_eq(config.socket, expected);
    }
    ck_assert_int_eq(load("none"), -1);
    ck_assert_ptr_nonnull(strstr(faults.text.data, "--node-id: must be"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("config");
    TCase *tc = tcase_create("text");
    TCase *files = tcase_create("files");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_whole_file_is_read);
    tcase_add_test(tc, the_budget_of_profiling_is_read);
    tcase_add_test(tc, symbol_indexes_are_read);
    tcase_add_test(tc, how_many_snapshots_are_kept_is_read);
    tcase_add_test(tc, how_the_database_is_started_is_read);
    tcase_add_test(tc, how_long_heapwired_may_be_away_is_read);
    tcase_add_test(tc, marks_and_linger_are_read);
    tcase_add_loop_test(tc, each_fault_is_reported_with_its_line, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, a_verifier_is_never_repeated);
    tcase_add_test(tc, faults_have_a_ceiling);
    tcase_add_test(tc, a_nul_byte_is_reported);
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(files, setup_files, teardown_files);
    tcase_add_test(files, a_file_with_users_is_private);
    tcase_add_test(files, roots_file_may_have_a_group_that_reads_it);
    tcase_add_test(files, a_file_without_users_may_be_read_but_not_written);
    tcase_add_test(files, only_regular_files_are_read);
    tcase_add_test(files, addresses_that_others_reach_require_tls);
    tcase_add_test(files, http_has_its_port_wherever_there_is_tcp);
    tcase_add_test(files, certificate_and_key_come_together);
    tcase_add_test(files, the_command_line_has_the_last_word);
    suite_add_tcase(suite, files);
    return suite_run(suite);
}
