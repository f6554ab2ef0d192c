/* test_process_memory.c - finding a process's cgroup, reading this process. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_memory.h"
#include "stats.h"
#include "suite.h"

#define V2_MOUNT                                                               \
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
#define V1_MOUNT(root)                                                         \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                        \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"              \
    "35 31 0:32 " root " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static const struct {
    const char *cgroup, *mountinfo, *path; /* NULL: not found */
    bool v2;
} places[] = {
    {"0::/system.slice/db.service\n", V2_MOUNT,
     "/sys/fs/cgroup/system.slice/db.service", true},
    {"0::/\n", V2_MOUNT, "/sys/fs/cgroup", true},
    {"5:cpu:/x\n4:memory:/docker/ab\n0::/\n", V1_MOUNT("/"),
     "/sys/fs/cgroup/memory/docker/ab", false},
    {"4:hugetlb,memory:/docker/ab\n0::/\n", V1_MOUNT("/docker/ab"),
     "/sys/fs/cgroup/memory", false},
    {"4:memory:/docker/ab/inner\n", V1_MOUNT("/docker/ab"),
     "/sys/fs/cgroup/memory/inner", false},
    {"4:memory:/docker/abc\n", V1_MOUNT("/docker/ab"), NULL, false},
    {"4:name=memory:/x\n0::/y\n", V1_MOUNT("/"), "/sys/fs/cgroup/unified/y",
     true},
    {"0::/../other\n", V2_MOUNT, NULL, true},
    {"4:memory:/x\n", V2_MOUNT, NULL, false},
    {"", V2_MOUNT, NULL, true},
    {"0::\n", V2_MOUNT, NULL, true},
    {"::\n:\n\n0", V2_MOUNT, NULL, true},
    {"0::/x\n", "", NULL, true},
    {"0::/x\n", "30 23 0:26 / /sys/fs/cgroup rw -\n- - -\n      \n", NULL,
     true},
    {"0::/x\n", "30 23 0:26 / /sys/fs\\040x rw - cgroup2 cgroup2 rw\n" V2_MOUNT,
     "/sys/fs/cgroup/x", true},
};

START_TEST(a_cgroup_is_found_where_it_is_mounted)
{
    struct cgroup_path cgroup;
    bool found = cgroup_find(places[_i].cgroup, places[_i].mountinfo, &cgroup);

    ck_assert_int_eq(found, places[_i].path != NULL);
    if (found) {
        ck_assert_str_eq(cgroup.path, places[_i].path);
        ck_assert_int_eq(cgroup.v2, places[_i].v2);
    }
}
END_TEST

START_TEST(a_path_longer_than_any_is_refused)
{
    static char text[8192];
    struct cgroup_path cgroup;

    strcpy(text, "0::/");
    memset(text + 4, 'x', sizeof(text) - 5);
    ck_assert(!cgroup_find(text, V2_MOUNT, &cgroup));
}
END_TEST

static void
put(const char *dir, const char *name, const char *value)
{
    char path[4200];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(value, file);
    fclose(file);
}

/* Three cgroups: the mount, one in it, and the process's in that one. */
static const struct {
    bool v2;
    const char *limits[3], *uses[3]; /* the mount first; NULL: no such file */
    struct stats_figure limit, current;
} hierarchies[] = {
    {true, {NULL, "max", "max"}, {NULL, "9", "5"}, {false, 0}, {true, 5}},
    {true, {NULL, "max", "70"}, {NULL, "9", "5"}, {true, 70}, {true, 5}},
    {true, {NULL, "60", "70"}, {NULL, "9", "5"}, {true, 60}, {true, 9}},
    {true, {"50", "60", "max"}, {"11", "9", "5"}, {true, 50}, {true, 11}},
    {true, {NULL, "0", "70"}, {NULL, "9", "5"}, {true, 0}, {true, 9}},
    {true, {NULL, "", "x"}, {NULL, "9", "x"}, {false, 0}, {false, 0}},
    {false,
     {"9223372036854771712", "60", "9223372036854771712"},
     {"11", "9", "5"},
     {true, 60},
     {true, 9}},
    {false,
     {"9223372036854771712", "9223372036854771712", "9223372036854771712"},
     {"11", "9", "5"},
     {false, 0},
     {true, 5}},
};

START_TEST(the_smallest_limit_on_the_way_up_counts)
{
    static const char *const below[] = {"", "/a", "/a/b"};
    struct cgroup_path cgroup = {.v2 = hierarchies[_i].v2};
    struct stats stats = {0};
    char root[] = "/tmp/hw-test-XXXXXX", dir[64], command[128];

    ck_assert_ptr_nonnull(mkdtemp(root));
    for (int i = 0; i < 3; i++) {
        snprintf(dir, sizeof(dir), "%s%s", root, below[i]);
        ck_assert(i == 0 || mkdir(dir, 0700) == 0);
        if (hierarchies[_i].limits[i])
            put(dir, cgroup.v2 ? "memory.max" : "memory.limit_in_bytes",
                hierarchies[_i].limits[i]);
        if (hierarchies[_i].uses[i])
            put(dir, cgroup.v2 ? "memory.current" : "memory.usage_in_bytes",
                hierarchies[_i].uses[i]);
    }
    cgroup.root_size = strlen(root);
    snprintf(cgroup.path, sizeof(cgroup.path), "%s/a/b", root);
    cgroup_read(&cgroup, &stats);
    ck_assert_int_eq(stats.cgroup_limit.known, hierarchies[_i].limit.known);
    ck_assert_uint_eq(stats.cgroup_limit.value, hierarchies[_i].limit.value);
    ck_assert_int_eq(stats.cgroup_current.known, hierarchies[_i].current.known);
    ck_assert_uint_eq(stats.cgroup_current.value,
                      hierarchies[_i].current.value);
    snprintf(command, sizeof(command), "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static const struct {
    bool v2;
    const char *stat, *events;        /* NULL: no such file */
    struct stats_figure cache, kills; /* kills unknown: the machine's */
} counts[] = {
    {true,
     "anon 9\nfile 7\ninactive_file 300\nactive_file 20\n",
     "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n",
     {true, 320},
     {true, 4}},
    {false,
     "cache 9\ninactive_file 1\ntotal_inactive_file 300\n"
     "total_active_file 20\n",
     "oom_kill_disable 0\nunder_oom 1\noom_kill 6\n",
     {true, 320},
     {true, 6}},
    {true, "inactive_file 300\n", "oom 3\n", {false, 0}, {false, 0}},
    {true, "active_file x\n\n", "", {false, 0}, {false, 0}},
    {true, NULL, NULL, {false, 0}, {false, 0}},
};

START_TEST(file_pages_and_kills_are_counted)
{
    struct stats_figure kills;
    char root[] = "/tmp/hw-test-XXXXXX", command[128];
    struct cgroup_path cgroup = {.v2 = counts[_i].v2};
    struct stats stats = {0};

    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(cgroup.path, sizeof(cgroup.path), "%s", root);
    cgroup.root_size = strlen(root);
    if (counts[_i].stat)
        put(root, "memory.stat", counts[_i].stat);
    if (counts[_i].events)
        put(root, cgroup.v2 ? "memory.events" : "memory.oom_control",
            counts[_i].events);
    cgroup_read(&cgroup, &stats);
    ck_assert_int_eq(stats.cgroup_cache.known, counts[_i].cache.known);
    if (stats.cgroup_cache.known)
        ck_assert_uint_eq(stats.cgroup_cache.value, counts[_i].cache.value);
    kills = process_memory_oom_kills(&cgroup);
    ck_assert_int_eq(kills.known, counts[_i].kills.known);
    ck_assert_uint_eq(kills.value, counts[_i].kills.value);
    ck_assert(process_memory_oom_kills(NULL).known); /* the machine's */
    snprintf(command, sizeof(command), "rm -r %s", root);
    ck_assert_int_eq(system(command), 0); // NOLINT(concurrency-mt-unsafe)
}
END_TEST

START_TEST(what_this_process_holds_is_as_proc_status_says)
{
    struct stats stats = {0};
    unsigned long long kilobytes = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");

    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof(line), status))
        if (sscanf(line, "VmRSS: %llu", &kilobytes) == 1)
            break;
    fclose(status);
    process_memory_read(getpid(), &stats);
    ck_assert(stats.rss.known && stats.rss_file.known);
    ck_assert_uint_gt(stats.rss.value, kilobytes * 1024 / 2);
    ck_assert_uint_lt(stats.rss.value, kilobytes * 1024 * 2);
    ck_assert_uint_le(stats.rss_file.value, stats.rss.value);
    if (stats.cgroup_limit.known)
        ck_assert_uint_gt(stats.cgroup_limit.value, 0);
}
END_TEST

START_TEST(of_a_process_that_is_not_there_nothing_is_known)
{
    struct stats stats = {0};

    process_memory_read(0x3ffffff, &stats); /* above any pid */
    ck_assert(!stats.rss.known && !stats.rss_file.known);
    ck_assert(!stats.cgroup_current.known && !stats.cgroup_limit.known);
}
END_TEST

/* A killed database, before its parent has waited for it. */
START_TEST(a_process_that_has_ended_holds_nothing_known)
{
    struct stats stats = {0};
    siginfo_t ended;
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    process_memory_read(child, &stats);
    ck_assert(!stats.rss.known && !stats.rss_file.known);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("process_memory");
    TCase *tc = tcase_create("process_memory");

    tcase_add_loop_test(tc, a_cgroup_is_found_where_it_is_mounted, 0,
                        sizeof(places) / sizeof(places[0]));
    tcase_add_test(tc, a_path_longer_than_any_is_refused);
    tcase_add_loop_test(tc, the_smallest_limit_on_the_way_up_counts, 0,
                        sizeof(hierarchies) / sizeof(hierarchies[0]));
    tcase_add_loop_test(tc, file_pages_and_kills_are_counted, 0,
                        sizeof(counts) / sizeof(counts[0]));
    tcase_add_test(tc, what_this_process_holds_is_as_proc_status_says);
    tcase_add_test(tc, of_a_process_that_is_not_there_nothing_is_known);
    tcase_add_test(tc, a_process_that_has_ended_holds_nothing_known);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
