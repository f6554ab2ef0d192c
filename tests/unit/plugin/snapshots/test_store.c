/*
 * test_store.c - what is kept, for how long, where, and what of it survives.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "errors.h"
#include "failing_memory.h"
#include "snapshot_fixture.h"
#include "store.h"
#include "store_state.h"
#include "suite.h"

static char top[32], dir[64], path[256], told[4096];
static struct store *store;
static struct store_options options;
static struct error err;

/* What is done to files, in its order: 'f' a file is synced, 'd' a directory,
 * 'r' one is renamed.  The call of that place fails, with *_error. */
static char calls[64];
static char failing_call;
static int failing_error;

int __wrap_fsync(int fd);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                     unsigned flags);
int __real_fsync(int fd);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                     unsigned flags);

static bool
call_fails(char call)
{
    size_t size = strlen(calls);

    if (size < sizeof(calls) - 1)
        calls[size] = call;
    errno = failing_error;
    return call == failing_call;
}

int
__wrap_fsync(int fd)
{
    struct stat st;

    fstat(fd, &st);
    return call_fails(S_ISDIR(st.st_mode) ? 'd' : 'f') ? -1 : __real_fsync(fd);
}

int
__wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                 unsigned flags)
{
    return call_fails('r')
               ? -1
               : __real_renameat2(from_dir, from, to_dir, to, flags);
}

static void
listen_to(const char *line)
{
    strncat(told, line, sizeof(told) - strlen(told) - 2);
    strcat(told, "\n");
}

static void
set_up(void)
{
    strcpy(top, "/tmp/hw-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(dir, sizeof(dir), "%s/snapshots", top);
    options = store_defaults;
    options.dir = dir;
    told[0] = '\0';
    store = NULL;
}

static void
tear_down(void)
{
    char command[128];

    store_close(store);
    umount2(dir, MNT_DETACH); /* where one is */
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0); /* NOLINT: a name of our own */
}

static int
count_told(const char *words)
{
    int count = 0;

    for (const char *at = told; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

/* As another heapwired would. */
static void
reopen(void)
{
    store_close(store);
    told[0] = '\0';
    store = store_open(&options, listen_to, &err);
    ck_assert_msg(store != NULL, "%s", err.text);
}

static int
try_add(const char *name)
{
    struct snapshot *snapshot = fixture_snapshot(name, 9);
    int rc = store_add(store, snapshot, &err);

    ck_assert_int_eq(snapshot->references, rc == 0 ? 2 : 1);
    snapshot_unref(snapshot);
    return rc;
}

static void
add(const char *name)
{
    ck_assert_msg(try_add(name) == 0, "%s", err.text);
}

/* "a b c*": pinned ones with a star. */
static const char *
names(void)
{
    static char text[STORE_COUNT_MAX * (SNAPSHOT_NAME_MAX + 3)];
    struct store_entry *list = calloc(STORE_COUNT_MAX, sizeof(*list));
    size_t count = store_list(store, list, STORE_COUNT_MAX);

    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%s%s", i ? " " : "", list[i].name,
                list[i].pinned ? "*" : "");
    free(list);
    return text;
}

static struct store_entry
entry(const char *name)
{
    struct store_entry list[16], found = {0};
    size_t count = store_list(store, list, 16);

    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            found = list[i];
    ck_assert_str_eq(found.name, name);
    return found;
}

static const char *
in_dir(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void
put(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static bool
exists(const char *name)
{
    struct stat st;

    return lstat(in_dir(name), &st) == 0;
}

/* How many are being written, or were. */
static int
unfinished(void)
{
    DIR *list = opendir(dir);
    const struct dirent *entry;
    int count = 0;

    ck_assert_ptr_nonnull(list);
    while ((entry = readdir(list)) != NULL) /* NOLINT: our own stream */
        count += strstr(entry->d_name, ".tmp") != NULL;
    closedir(list);
    return count;
}

/* Reads it whole, and looks at all of it. */
static void
check_read(const char *name)
{
    struct snapshot *expected = fixture_snapshot(name, 9);
    struct snapshot *read = store_get(store, name, &err);

    ck_assert_msg(read != NULL, "%s", err.text);
    fixture_same(expected, read);
    snapshot_unref(read);
    snapshot_unref(expected);
}

/* ---- keeping ---- */

START_TEST(what_is_kept_survives)
{
    struct stat st;

    reopen();
    add("a");
    add("b");
    check_read("a");
    reopen();
    ck_assert_str_eq(told, "");
    ck_assert_str_eq(names(), "a b");
    ck_assert(entry("a").on_disk);
    ck_assert_uint_eq(entry("a").stacks, 9);
    ck_assert_int_lt(clock_wall_ms() - entry("a").kept_ms, 60000); /* now */
    check_read("a");
    check_read("a"); /* from memory */
    check_read("b");
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(stat(in_dir("a.snapshot"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    ck_assert_uint_eq((uint64_t)st.st_size, entry("a").size);
}
END_TEST

START_TEST(without_a_directory_memory_keeps_them)
{
    options.dir = NULL;
    reopen();
    add("a");
    check_read("a");
    ck_assert(!entry("a").on_disk);
    ck_assert_uint_gt(entry("a").size, 1000);
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    ck_assert_str_eq(names(), "a*");
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    ck_assert_str_eq(names(), "");
}
END_TEST

START_TEST(a_taken_name_is_an_error)
{
    reopen();
    add("before");
    ck_assert_int_eq(try_add("before"), -1);
    ck_assert_str_eq(err.text, "a snapshot named 'before' is kept already; "
                               "delete it, or take another name");
    reopen();
    ck_assert_int_eq(try_add("before"), -1);
    ck_assert_str_eq(names(), "before");
}
END_TEST

static const char *const no_names[] = {"",    "A",        "../x", "/etc/passwd",
                                       "a.b", "a b",      ".",    "a\nb",
                                       "a/b", "\xc3\xa4", "a-b"};

START_TEST(what_is_no_name_is_an_error)
{
    reopen();
    ck_assert_int_eq(store_check_name(store, no_names[_i], &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be a snapshot's name"));
    ck_assert_int_eq(try_add(no_names[_i]), -1);
    ck_assert_ptr_null(store_get(store, no_names[_i], &err));
    ck_assert_int_eq(store_delete(store, no_names[_i], &err), -1);
    ck_assert_int_eq(store_pin(store, no_names[_i], true, &err), -1);
    ck_assert_str_eq(names(), "");
}
END_TEST

static void
add_taken(const char *name, int64_t taken_ms)
{
    struct snapshot *snapshot = fixture_snapshot(name, 1);

    snapshot->taken_ms = taken_ms;
    ck_assert_msg(store_add(store, snapshot, &err) == 0, "%s", err.text);
    snapshot_unref(snapshot);
}

static const char *
meant_by(const char *name)
{
    static struct store_entry entry;
    struct snapshot *read;

    if (store_find(store, name, &entry, &err) != 0) {
        ck_assert_ptr_null(store_get(store, name, &err));
        return "";
    }
    read = store_get(store, name, &err);
    ck_assert_str_eq(read->name, entry.name);
    ck_assert_uint_eq(read->serial, entry.serial);
    snapshot_unref(read);
    return entry.name;
}

/* _i: with a directory */
START_TEST(the_last_two_go_by_when_they_were_taken)
{
    options.dir = _i ? dir : NULL;
    reopen();
    ck_assert_str_eq(meant_by("last"), "");
    add_taken("b", 2000);
    ck_assert_str_eq(meant_by("last"), "b");
    ck_assert_str_eq(meant_by("previous"), "");
    add_taken("a", 1000); /* imported, it may be */
    ck_assert_str_eq(meant_by("last"), "b");
    ck_assert_str_eq(meant_by("previous"), "a");
    add_taken("c", 2000);
    ck_assert_str_eq(meant_by("last"), "c");
    ck_assert_str_eq(meant_by("previous"), "b");
    ck_assert_int_eq(store_pin(store, "previous", true, &err), 0);
    if (_i) {
        ck_assert(exists("b.pinned"));
        reopen();
    }
    ck_assert_int_eq(store_delete(store, "last", &err), 0);
    ck_assert_str_eq(meant_by("last"), "b");
    ck_assert_int_eq(try_add("last"), -1);
    ck_assert_int_eq(try_add("previous"), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "before the last one"));
}
END_TEST

/* _i: with a directory */
START_TEST(the_last_ones_are_of_the_heap)
{
    struct snapshot *cpu = fixture_snapshot("busy", 9);

    options.dir = _i ? dir : NULL;
    reopen();
    add_taken("a", 1000);
    cpu->taken_ms = 2000;
    cpu->profile->kind = PROFILE_CPU;
    cpu->profile->duration_ms = 10000;
    ck_assert_int_eq(store_add(store, cpu, &err), 0);
    snapshot_unref(cpu);
    if (_i)
        reopen();
    ck_assert_str_eq(meant_by("last"), "a");
    ck_assert_str_eq(meant_by("previous"), "");
    ck_assert_str_eq(meant_by("busy"), "busy");
    cpu = store_get(store, "busy", &err);
    ck_assert_msg(cpu != NULL, "%s", err.text);
    ck_assert_int_eq(cpu->profile->kind, PROFILE_CPU);
    snapshot_unref(cpu);
}
END_TEST

START_TEST(a_made_up_name_is_new)
{
    struct snapshot *s = fixture_snapshot("", 1);

    reopen();
    store_make_name(store, s);
    ck_assert_str_eq(s->name, "heap_20261121_023107_1");
    ck_assert_int_eq(store_add(store, s, &err), 0);
    reopen();
    store_make_name(store, s);
    ck_assert_str_eq(s->name, "heap_20261121_023107_2");
    s->profile->kind = PROFILE_CPU;
    store_make_name(store, s);
    ck_assert_str_eq(s->name, "cpu_20261121_023107_3");
    snapshot_unref(s);
}
END_TEST

START_TEST(a_deleted_one_is_gone)
{
    reopen();
    add("a");
    add("b");
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    ck_assert(!exists("a.snapshot"));
    ck_assert_ptr_null(store_get(store, "a", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "no snapshot named 'a' is kept"));
    ck_assert_int_eq(store_delete(store, "a", &err), -1);
    reopen();
    ck_assert_str_eq(names(), "b");
    add("a");
    ck_assert_str_eq(names(), "b a");
}
END_TEST

START_TEST(a_reader_keeps_a_removed_snapshot)
{
    struct snapshot *read;

    reopen();
    add("a");
    read = store_get(store, "a", &err);
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    ck_assert_str_eq(read->name, "a");
    ck_assert_int_eq(read->references, 1);
    snapshot_unref(read);
}
END_TEST

/* ---- ceilings ---- */

/* _i: with a directory */
START_TEST(the_oldest_go)
{
    options.count = 3;
    options.dir = _i ? dir : NULL;
    reopen();
    add("a");
    add("b");
    add("c");
    ck_assert_str_eq(names(), "a b c");
    add("d");
    ck_assert_str_eq(names(), "b c d");
    if (_i) {
        ck_assert(!exists("a.snapshot") && exists("b.snapshot"));
        reopen();
    }
    add("e");
    ck_assert_str_eq(names(), _i ? "c d e" : "c d e");
}
END_TEST

static void
add_by_itself(const char *name, enum snapshot_cause cause)
{
    struct snapshot *snapshot = fixture_snapshot(name, 9);

    snapshot->cause = cause;
    ck_assert_msg(store_add(store, snapshot, &err) == 0, "%s", err.text);
    snapshot_unref(snapshot);
}

/* _i: with a directory */
START_TEST(those_asked_for_outlive_the_nodes_own)
{
    options.count = 4;
    options.dir = _i ? dir : NULL;
    reopen();
    add_by_itself("before", SNAPSHOT_ASKED);
    usleep(20000); /* files' times go by the kernel's ticks */
    add_by_itself("brought", SNAPSHOT_IMPORTED);
    usleep(20000);
    add_by_itself("mark", SNAPSHOT_MARK);
    usleep(20000);
    add_by_itself("hourly", SNAPSHOT_SCHEDULE);
    usleep(20000);
    if (_i)
        reopen();
    add_by_itself("mark2", SNAPSHOT_MARK);
    ck_assert_str_eq(names(), "before brought hourly mark2");
    add_by_itself("after", SNAPSHOT_ASKED);
    ck_assert_str_eq(names(), "before brought mark2 after");
    add_by_itself("latest", SNAPSHOT_ASKED);
    ck_assert_str_eq(names(), "before brought after latest");
    /* among themselves the oldest go */
    add_by_itself("mark3", SNAPSHOT_MARK);
    ck_assert_str_eq(names(), "brought after latest mark3");
}
END_TEST

START_TEST(pinned_ones_stay)
{
    options.count = 2;
    options.dir = _i ? dir : NULL;
    reopen();
    add("a");
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    add("b");
    add("c");
    ck_assert_str_eq(names(), "a* c");
    if (_i) {
        ck_assert(exists("a.pinned") && !exists("a.snapshot"));
        reopen();
        ck_assert_str_eq(names(), "a* c");
        check_read("a");
    }
    ck_assert_int_eq(store_pin(store, "c", true, &err), 0);
    ck_assert_int_eq(try_add("d"), -1);
    ck_assert_str_eq(err.text,
                     "there is no room for another snapshot: 2 are pinned; "
                     "delete some, or raise keep or keep_bytes in "
                     "[snapshots]");
    ck_assert_str_eq(names(), "a* c*");
    ck_assert_int_eq(store_pin(store, "a", false, &err), 0);
    add("d");
    ck_assert_str_eq(names(), "c* d");
    ck_assert_int_eq(store_delete(store, "c", &err), 0);
    if (_i)
        ck_assert(!exists("c.pinned"));
}
END_TEST

START_TEST(bytes_have_a_ceiling)
{
    uint64_t size;

    options.dir = _i ? dir : NULL;
    reopen();
    add("a");
    size = entry("a").size;
    options.bytes = 3 * size + size / 2;
    reopen();
    if (!_i)
        add("a");
    add("b");
    add("c");
    ck_assert_str_eq(names(), "a b c");
    add("d");
    ck_assert_str_eq(names(), "b c d");
    options.bytes = size - 1;
    reopen();
    ck_assert_int_eq(try_add("e"), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "at most"));
    ck_assert_ptr_nonnull(strstr(err.text, "(keep_bytes in [snapshots])"));
    ck_assert_str_eq(names(), _i ? "b c d" : ""); /* lost nothing for it */
}
END_TEST

static void
make_older(const char *name, time_t seconds)
{
    struct timespec times[2] = {{time(NULL) - seconds, 0},
                                {time(NULL) - seconds, 0}};

    ck_assert_int_eq(utimensat(AT_FDCWD, in_dir(name), times, 0), 0);
}

START_TEST(age_has_a_ceiling)
{
    options.age_ms = 60000;
    reopen();
    add("a");
    add("b");
    add("c");
    ck_assert_int_eq(store_pin(store, "c", true, &err), 0);
    make_older("a.snapshot", 30);
    make_older("b.snapshot", 90);
    make_older("c.pinned", 90);
    reopen();
    ck_assert_str_eq(names(), "b c* a"); /* as old as their files */
    store_expire(store);
    ck_assert_str_eq(names(), "c* a");
    ck_assert(!exists("b.snapshot"));
    make_older("a.snapshot", 90);
    reopen();
    add("d");
    ck_assert_str_eq(names(), "c* d");
}
END_TEST

START_TEST(ages_matter_only_if_configured)
{
    reopen();
    add("a");
    make_older("a.snapshot", 100000000);
    reopen();
    store_expire(store);
    add("b");
    ck_assert_str_eq(names(), "a b");
}
END_TEST

/* Decoded ones are let go of, and read again. */
START_TEST(memory_has_a_ceiling)
{
    char name[] = "large_0";
    struct snapshot *s;

    reopen();
    for (int i = 0; i < 5; i++) {
        name[6] = (char)('0' + i);
        s = fixture_snapshot(name, 9);
        ck_assert_ptr_nonnull(
            arena_alloc(s->profile->arena, STORE_MEMORY_MAX / 3));
        ck_assert_int_eq(store_add(store, s, &err), 0);
        ck_assert_int_eq(s->references, 2);
        snapshot_unref(s);
    }
    ck_assert_str_eq(names(), "large_0 large_1 large_2 large_3 large_4");
    for (int i = 0; i < 5; i++) {
        name[6] = (char)('0' + i);
        s = store_get(store, name, &err);
        /* Read again, it has no block that nothing in the file asks for. */
        ck_assert_int_eq(arena_used(s->profile->arena) < STORE_MEMORY_MAX / 3,
                         i < 3);
        snapshot_unref(s);
    }
}
END_TEST

/* ---- what lies there ---- */

START_TEST(what_older_releases_called_cpu_is_passed_over)
{
    char old[sizeof(path)];

    reopen();
    add("a");
    add("b");
    strcpy(old, in_dir("b.snapshot"));
    ck_assert_int_eq(rename(old, in_dir("cpu.snapshot")), 0);
    reopen();
    ck_assert_str_eq(names(), "a");
    ck_assert_ptr_nonnull(strstr(told, "snapshots/cpu is skipped: "));
    ck_assert_int_eq(rename(in_dir("cpu.snapshot"), old), 0);
    reopen();
    ck_assert_str_eq(names(), "a b");
}
END_TEST

START_TEST(what_is_damaged_is_passed_over)
{
    struct snapshot *read;
    int fd;

    reopen();
    add("a");
    add("b");
    add("c");
    add("d");
    put("b.snapshot", "HWSNAP\r\nrubbish");
    ck_assert_int_eq(truncate(in_dir("c.snapshot"), 5000), 0);
    fd = open(in_dir("d.snapshot"), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "XXXX", 4, (off_t)entry("d").size - 10), 4);
    close(fd);
    put("e.snapshot", "");
    reopen();
    ck_assert_str_eq(names(), "a d"); /* d's body is not looked at yet */
    ck_assert_ptr_nonnull(strstr(told, "snapshots/b is skipped: its "));
    ck_assert_ptr_nonnull(strstr(told, "snapshots/c is skipped: it is cut "
                                       "off"));
    ck_assert_ptr_nonnull(strstr(told, "snapshots/e is skipped: "));
    ck_assert_ptr_null(store_get(store, "d", &err));
    ck_assert_str_eq(err.text, "cannot use the file of the snapshot 'd': its "
                               "body is damaged");
    read = store_get(store, "a", &err);
    ck_assert_ptr_nonnull(read);
    snapshot_unref(read);
    /* Nothing of it is removed, or written over. */
    ck_assert(exists("b.snapshot") && exists("c.snapshot"));
    ck_assert_int_eq(try_add("b"), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "b.snapshot: File exists"));
    ck_assert(unfinished() == 0);
    ck_assert_str_eq(names(), "a d");
    ck_assert_int_eq(store_delete(store, "d", &err), 0);
}
END_TEST

START_TEST(what_is_not_ours_is_left_alone)
{
    char outside[64];

    reopen();
    add("a");
    snprintf(outside, sizeof(outside), "%s/outside", top);
    ck_assert_int_eq(rename(in_dir("a.snapshot"), outside), 0);
    ck_assert_int_eq(symlink(outside, in_dir("a.snapshot")), 0);
    ck_assert_int_eq(mkdir(in_dir("b.snapshot"), 0700), 0);
    ck_assert_int_eq(mkfifo(in_dir("c.snapshot"), 0600), 0);
    ck_assert_int_eq(mkdir(in_dir("d.tmp"), 0700), 0);
    ck_assert_int_eq(symlink(outside, in_dir("e.tmp")), 0);
    put("README", "");
    put("F.snapshot", "");
    put("f.tmp", "was being written");
    reopen();
    ck_assert_str_eq(names(), "");
    ck_assert_ptr_nonnull(
        strstr(told, "a.snapshot is skipped: it is a symbolic link"));
    ck_assert_ptr_nonnull(
        strstr(told, "b.snapshot is skipped: it is not a regular file"));
    ck_assert_ptr_nonnull(
        strstr(told, "c.snapshot is skipped: it is not a regular file"));
    ck_assert_ptr_nonnull(strstr(told, "d.tmp is skipped: "));
    ck_assert_ptr_nonnull(strstr(told, "README is skipped: it is not the "
                                       "name of a snapshot's file"));
    ck_assert_ptr_nonnull(strstr(told, "F.snapshot is skipped: "));
    ck_assert(!exists("f.tmp")); /* was ours */
    ck_assert(exists("d.tmp") && exists("e.tmp") && exists("README"));
    ck_assert_int_eq(access(outside, F_OK), 0);
    for (const char *name = "abc"; *name; name++) {
        char one[2] = {*name, '\0'};

        ck_assert_int_eq(try_add(one), -1);
    }
    ck_assert_int_eq(access(outside, F_OK), 0);
    add("d");
    add("e");
    add("f");
    ck_assert(exists("d.tmp") && exists("e.tmp"));
}
END_TEST

START_TEST(a_file_is_called_as_it_is_named)
{
    char to[64];

    reopen();
    add("a");
    snprintf(to, sizeof(to), "%s/renamed.pinned", dir);
    ck_assert_int_eq(rename(in_dir("a.snapshot"), to), 0);
    reopen();
    ck_assert_str_eq(names(), "renamed*");
    check_read("renamed");
}
END_TEST

START_TEST(one_that_is_there_twice_is_there_once)
{
    char to[64];

    reopen();
    add("a");
    snprintf(to, sizeof(to), "%s/a.pinned", dir);
    ck_assert_int_eq(link(in_dir("a.snapshot"), to), 0);
    reopen();
    ck_assert_ptr_nonnull(strstr(told, "it is there twice"));
    check_read("a");
    ck_assert(!strchr(names(), ' '));
}
END_TEST

/* What is kept by default has room of its own, and others have theirs. */
/* One that hangs would stop whoever reads the settings again. */
START_TEST(a_ring_is_set_while_another_has_the_disk)
{
    reopen();
    store_set_ring(store, 5);
    pthread_mutex_lock(&store->disk);
    store_set_ring(store, 0);
    ck_assert_uint_eq(store_get_ring(store), 0);
    ck_assert_uint_eq(store->options.ring_ms, 5);
    pthread_mutex_unlock(&store->disk);
    store_expire(store);
    ck_assert_uint_eq(store->options.ring_ms, 0);
}
END_TEST

START_TEST(the_ring_is_apart)
{
    struct store_entry *list = calloc(STORE_COUNT_MAX, sizeof(*list));
    struct store_entry last;
    size_t count, ring = 0;
    char name[32];

    ck_assert_ptr_nonnull(list);
    reopen();
    store_set_ring(store, 1);
    add_by_itself("mine", SNAPSHOT_ASKED);
    for (int i = 0; i < 2 * RING_MAX; i++) {
        snprintf(name, sizeof(name), "auto_%03d", i);
        add_by_itself(name, SNAPSHOT_RING);
    }
    for (int i = 0; i < 63; i++) { /* up to the 64 that are kept */
        snprintf(name, sizeof(name), "other_%03d", i);
        add(name);
    }
    count = store_list(store, list, STORE_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        ring += list[i].cause == SNAPSHOT_RING;
    ck_assert_uint_ge(ring, 1);
    ck_assert_uint_le(ring, RING_MAX);
    ck_assert_uint_eq(count - ring, 64);
    ck_assert_int_eq(store_find(store, SNAPSHOT_LAST, &last, &err), 0);
    ck_assert_int_ne(last.cause, SNAPSHOT_RING);
    add("one_more"); /* takes the place of another of its kind */
    ck_assert_uint_eq(store_list(store, list, STORE_COUNT_MAX), count);
    ck_assert_int_eq(store_find(store, "mine", &last, &err), 0);
    /* Pinned, it is one of the others, and leaves no place. */
    count = store_list(store, list, STORE_COUNT_MAX);
    for (size_t i = 0; i < count; i++)
        if (list[i].cause == SNAPSHOT_RING)
            snprintf(name, sizeof(name), "%s", list[i].name);
    ck_assert_int_eq(store_pin(store, name, true, &err), 0);
    add("and_one_more");
    ck_assert_uint_eq(store_list(store, list, STORE_COUNT_MAX), count - 1);
    ck_assert_int_eq(store_find(store, name, &last, &err), 0);
    ck_assert_int_eq(store_find(store, "mine", &last, &err), 0);
    store_set_ring(store, 3600 * 1000);
    reopen();
    ck_assert_int_eq(store_find(store, name, &last, &err), 0);
    ck_assert(last.pinned);
    ck_assert_int_eq(last.cause, SNAPSHOT_RING);
    free(list);
}
END_TEST

START_TEST(too_many_files_are_not_all_known)
{
    reopen();
    add("a");
    for (int i = 0; i < STORE_COUNT_MAX + 3; i++) {
        char to[80];

        snprintf(to, sizeof(to), "%s/copy_%03d.snapshot", dir, i);
        ck_assert_int_eq(link(in_dir("a.snapshot"), to), 0);
    }
    reopen();
    ck_assert_ptr_nonnull(strstr(told, "is skipped: there are too many"));
    ck_assert_uint_gt(strlen(names()), STORE_COUNT_MAX * 8);
    add("b"); /* and 64 are left */
    ck_assert_uint_lt(strlen(names()), 64 * 16);
    check_read("b");
}
END_TEST

static int
open_store(void)
{
    store = store_open(&options, listen_to, &err);
    return store ? 0 : -1;
}

START_TEST(a_directory_that_is_not_ours_alone_is_refused)
{
    ck_assert_int_eq(mkdir(dir, 0755), 0);
    ck_assert_int_eq(open_store(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "is open to others (chmod 700)"));
    rmdir(dir);
    ck_assert_int_eq(symlink("/tmp", dir), 0);
    ck_assert_int_eq(open_store(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot open the directory"));
    unlink(dir);
    options.dir = "/nonexistent/snapshots";
    ck_assert_int_eq(open_store(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot make the directory"));
}
END_TEST

START_TEST(a_file_that_vanished_is_an_error)
{
    reopen();
    add("a");
    reopen();
    unlink(in_dir("a.snapshot"));
    ck_assert_ptr_null(store_get(store, "a", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "cannot read "));
    ck_assert_int_eq(store_pin(store, "a", true, &err), -1);
    ck_assert_str_eq(names(), "a");
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    ck_assert_str_eq(names(), "");
}
END_TEST

/* ---- want of room and of memory ---- */

/* Check writes files of its own: nothing is asserted while the limit holds. */
static int
add_with_limit(const char *name, rlim_t bytes)
{
    struct snapshot *snapshot = fixture_snapshot(name, 9);
    struct rlimit before, limit;
    int rc;

    signal(SIGXFSZ, SIG_IGN); /* write fails, as on a full disk */
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
    rc = store_add(store, snapshot, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    snapshot_unref(snapshot);
    return rc;
}

START_TEST(a_write_that_fails_loses_nothing)
{
    options.count = 2;
    reopen();
    add("a");
    add("b");
    ck_assert_int_eq(add_with_limit("c", 1000), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot write "));
    ck_assert_ptr_nonnull(strstr(err.text, "c.snapshot: File too large"));
    ck_assert_str_eq(names(), "a b");
    ck_assert(unfinished() == 0 && !exists("c.snapshot"));
    reopen();
    add("d");
    ck_assert_str_eq(names(), "b d");
}
END_TEST

/* A disk of so many bytes at dir; false where none may be mounted. */
static bool
mount_disk(int bytes)
{
    char size[32];

    snprintf(size, sizeof(size), "size=%d,mode=0700", bytes);
    return mkdir(dir, 0700) == 0 &&
           unshare(CLONE_NEWNS) == 0 && /* gone with this process */
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, size) == 0;
}

/* A name that no packing makes small. */
static int
add_noise(const char *name, size_t bytes)
{
    struct snapshot *s = fixture_snapshot(name, 0);
    char *noise = arena_alloc(s->profile->arena, bytes + 1);
    int rc;

    for (size_t i = 0; i < bytes; i++)
        noise[i] = (char)(rand() % 255 + 1); /* NOLINT */
    s->profile->memory = noise;
    rc = store_add(store, s, &err);
    snapshot_unref(s);
    return rc;
}

START_TEST(a_full_disk_loses_nothing)
{
    struct snapshot *read;

    if (!mount_disk(1 << 20))
        return; /* needs root */
    reopen();
    ck_assert_int_eq(add_noise("a", 400000), 0);
    ck_assert_int_eq(add_noise("b", 400000), 0);
    ck_assert_int_eq(add_noise("c", 400000), -1);
    ck_assert_int_eq(err.code, ER_DISK_FULL);
    ck_assert_ptr_nonnull(strstr(err.text, "No space left on device"));
    ck_assert(unfinished() == 0 && !exists("c.snapshot"));
    ck_assert_str_eq(names(), "a b");
    reopen();
    ck_assert_str_eq(told, "");
    ck_assert_str_eq(names(), "a b");
    read = store_get(store, "a", &err);
    ck_assert_ptr_nonnull(read);
    snapshot_unref(read);
    /* What can be renamed needs no room. */
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    /* The oldest goes first where it is to go and that makes room. */
    options.count = 2;
    reopen();
    ck_assert_int_eq(add_noise("c", 400000), 0);
    ck_assert_str_eq(names(), "a* c");
    /* And stays where that would not do. */
    ck_assert_int_eq(add_noise("d", 900000), -1);
    ck_assert_str_eq(names(), "a* c");
    ck_assert(exists("c.snapshot"));
}
END_TEST

/* Others delete the files, and then there is no room to write them again. */
START_TEST(a_full_disk_leaves_a_deleted_one_in_memory)
{
    char taken[256];

    if (!mount_disk(1 << 20))
        return; /* needs root */
    reopen();
    ck_assert_int_eq(add_noise("a", 300000), 0);
    ck_assert_int_eq(add_noise("b", 300000), 0);
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    ck_assert_int_eq(remove(in_dir("a.pinned")), 0);
    ck_assert_int_eq(remove(in_dir("b.snapshot")), 0);
    snprintf(taken, sizeof(taken), "head -c 2000000 /dev/zero >%s/full 2>&-",
             dir);
    ck_assert_int_ne(system(taken), 0); /* NOLINT: a name of our own */
    store_expire(store);
    store_expire(store);
    ck_assert_str_eq(names(), "a* b");
    ck_assert(!entry("a").on_disk && !entry("b").on_disk);
    ck_assert_msg(
        count_told(
            "stays only in memory until it can be written: cannot write ") ==
                2 &&
            count_told("No space left on device") == 2 && count_told("\n") == 2,
        "%s", told);
    ck_assert_int_eq(remove(in_dir("full")), 0);
    store_expire(store);
    ck_assert(exists("a.pinned") && exists("b.snapshot"));
    ck_assert(entry("a").on_disk && entry("b").on_disk);
    ck_assert_msg(count_told("is written again") == 2, "%s", told);
    reopen();
    ck_assert_str_eq(names(), "a* b");
    /* What is in its file alone goes with it. */
    ck_assert_int_eq(remove(in_dir("b.snapshot")), 0);
    store_expire(store);
    ck_assert_str_eq(names(), "a*");
    ck_assert_msg(count_told("is gone: it was only in its file") == 1, "%s",
                  told);
}
END_TEST

/* Not one allocation may fail and lose a snapshot, or keep half of one. */
START_TEST(want_of_memory_changes_nothing)
{
    struct snapshot *s = fixture_snapshot("b", 9), *read;
    unsigned n;
    int rc;

    reopen();
    add("a");
    for (n = 1;; n++) {
        allocations = 0;
        failing = n;
        rc = store_add(store, s, &err);
        failing = 0;
        if (rc == 0)
            break;
        ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
        ck_assert_str_eq(names(), "a");
        ck_assert(unfinished() == 0 && !exists("b.snapshot"));
    }
    ck_assert_uint_gt(n, 5);
    snapshot_unref(s);
    reopen();
    for (n = 1;; n++) {
        allocations = 0;
        failing = n;
        read = store_get(store, "a", &err);
        failing = 0;
        if (read)
            break;
        ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
    }
    ck_assert_uint_gt(n, 5);
    snapshot_unref(read);
    check_read("a");
    check_read("b");
}
END_TEST

START_TEST(a_start_without_memory_removes_nothing)
{
    unsigned n;

    reopen();
    add("a");
    add("b");
    store_close(store);
    for (n = 1;; n++) {
        allocations = 0;
        failing = n;
        store = store_open(&options, listen_to, &err);
        failing = 0;
        if (allocations < n)
            break;
        if (!store)
            ck_assert_int_eq(err.code, ER_OUT_OF_MEMORY);
        store_close(store);
        store = NULL;
    }
    ck_assert_uint_gt(n, 3);
    ck_assert_str_eq(names(), "a b");
}
END_TEST

/* ---- what survives the machine ---- */

START_TEST(a_file_is_synced_before_it_has_its_name)
{
    reopen();
    memset(calls, 0, sizeof(calls));
    add("a");
    ck_assert_str_eq(calls, "frd");
    memset(calls, 0, sizeof(calls));
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    ck_assert_str_eq(calls, "rd");
    memset(calls, 0, sizeof(calls));
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
    ck_assert_str_eq(calls, "d");
}
END_TEST

START_TEST(what_cannot_be_synced_or_renamed_is_not_kept)
{
    static const char which[] = "frd";

    reopen();
    add("a");
    failing_call = which[_i];
    failing_error = EIO;
    ck_assert_int_eq(try_add("b"), -1);
    failing_call = 0;
    ck_assert_ptr_nonnull(strstr(err.text, "cannot write "));
    ck_assert_ptr_nonnull(strstr(err.text, "Input/output error"));
    ck_assert(unfinished() == 0 && !exists("b.snapshot"));
    ck_assert_str_eq(names(), "a");
    add("b");
    ck_assert_str_eq(names(), "a b");
}
END_TEST

START_TEST(what_cannot_be_pinned_is_as_it_was)
{
    static const char which[] = "rd";

    reopen();
    add("a");
    failing_call = which[_i];
    failing_error = EIO;
    ck_assert_int_eq(store_pin(store, "a", true, &err), -1);
    failing_call = 0;
    ck_assert_ptr_nonnull(strstr(err.text, "Input/output error"));
    ck_assert_str_eq(names(), "a");
    ck_assert(exists("a.snapshot") && !exists("a.pinned"));
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    ck_assert_int_eq(store_delete(store, "a", &err), 0);
}
END_TEST

/* As on NFS. */
START_TEST(a_file_system_that_cannot_rename_without_overwriting_links)
{
    reopen();
    put("b.snapshot", "a stranger's");
    failing_call = 'r';
    failing_error = EINVAL;
    add("a");
    ck_assert(exists("a.snapshot") && unfinished() == 0);
    ck_assert_int_eq(try_add("b"), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "File exists"));
    ck_assert_int_eq(store_pin(store, "a", true, &err), 0);
    ck_assert(exists("a.pinned") && !exists("a.snapshot"));
    failing_call = 0;
    reopen();
    ck_assert_str_eq(names(), "a*");
    check_read("a");
}
END_TEST

/* Writes without end, and sends the names of what was kept through fd. */
static void
write_until_killed(int fd)
{
    char name[] = "k_000000";
    struct error why;

    for (unsigned i = 0;; i++) {
        struct snapshot *s = fixture_snapshot(name, 9);

        snprintf(name, sizeof(name), "k_%06u", i % 1000000);
        memcpy(s->name, name, sizeof(name));
        if (store_add(store, s, &why) != 0 || write(fd, name, 8) != 8)
            _exit(1);
        if (i % 3 == 0)
            store_pin(store, name, true, &why);
        if (i % 3 == 0 && i % 4)
            store_delete(store, name, &why);
        if (i % 12 == 6) { /* or all would be pinned in the end */
            snprintf(name, sizeof(name), "k_%06u", (i - 6) % 1000000);
            store_pin(store, name, false, &why);
        }
        snapshot_unref(s);
    }
}

/* The last of those that were sent is there, all that is there is whole. */
START_TEST(a_kill_leaves_whole_ones)
{
    enum { KILLS = 25 };
    char last[9], name[9] = "";
    struct store_entry *list = calloc(STORE_COUNT_MAX, sizeof(*list));
    int met = 0;

    options.count = 8;
    srand((unsigned)clock_ms());
    for (int i = 0; i < KILLS; i++) {
        int fds[2], status;
        size_t count;
        pid_t child;

        reopen();
        ck_assert_int_eq(pipe(fds), 0);
        child = fork();
        if (child == 0)
            write_until_killed(fds[1]);
        close(fds[1]);
        /* at any moment */
        usleep((useconds_t)(20000 + rand() % 60000)); /* NOLINT */
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFSIGNALED(status), "it failed before");
        last[0] = '\0';
        while (read(fds[0], name, 8) == 8)
            memcpy(last, name, sizeof(last));
        close(fds[0]);
        met += unfinished() > 0;
        reopen();
        ck_assert_str_eq(told, "");
        count = store_list(store, list, STORE_COUNT_MAX);
        ck_assert_msg(*last == '\0' || atoi(last + 2) % 3 == 0 ||
                          strstr(names(), last) != NULL,
                      "%s is not among %s", last, names());
        for (size_t j = 0; j < count; j++) {
            check_read(list[j].name);
            ck_assert_int_eq(store_delete(store, list[j].name, &err), 0);
        }
    }
    printf("%d of %d kills met one that was being written\n", met, KILLS);
    free(list);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

int
main(void)
{
    Suite *suite = suite_create("store");
    TCase *tc = tcase_create("store");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_is_kept_survives);
    tcase_add_test(tc, without_a_directory_memory_keeps_them);
    tcase_add_test(tc, a_taken_name_is_an_error);
    tcase_add_loop_test(tc, what_is_no_name_is_an_error, 0, COUNT(no_names));
    tcase_add_loop_test(tc, the_last_two_go_by_when_they_were_taken, 0, 2);
    tcase_add_loop_test(tc, the_last_ones_are_of_the_heap, 0, 2);
    tcase_add_test(tc, a_made_up_name_is_new);
    tcase_add_test(tc, a_deleted_one_is_gone);
    tcase_add_test(tc, a_reader_keeps_a_removed_snapshot);
    tcase_add_loop_test(tc, the_oldest_go, 0, 2);
    tcase_add_loop_test(tc, those_asked_for_outlive_the_nodes_own, 0, 2);
    tcase_add_loop_test(tc, pinned_ones_stay, 0, 2);
    tcase_add_loop_test(tc, bytes_have_a_ceiling, 0, 2);
    tcase_add_test(tc, age_has_a_ceiling);
    tcase_add_test(tc, ages_matter_only_if_configured);
    tcase_add_test(tc, memory_has_a_ceiling);
    tcase_add_test(tc, what_older_releases_called_cpu_is_passed_over);
    tcase_add_test(tc, what_is_damaged_is_passed_over);
    tcase_add_test(tc, what_is_not_ours_is_left_alone);
    tcase_add_test(tc, a_file_is_called_as_it_is_named);
    tcase_add_test(tc, one_that_is_there_twice_is_there_once);
    tcase_add_test(tc, a_ring_is_set_while_another_has_the_disk);
    tcase_add_test(tc, the_ring_is_apart);
    tcase_add_test(tc, too_many_files_are_not_all_known);
    tcase_add_test(tc, a_directory_that_is_not_ours_alone_is_refused);
    tcase_add_test(tc, a_file_that_vanished_is_an_error);
    tcase_add_test(tc, a_write_that_fails_loses_nothing);
    tcase_add_test(tc, a_full_disk_loses_nothing);
    tcase_add_test(tc, a_full_disk_leaves_a_deleted_one_in_memory);
    tcase_add_test(tc, want_of_memory_changes_nothing);
    tcase_add_test(tc, a_start_without_memory_removes_nothing);
    tcase_add_test(tc, a_file_is_synced_before_it_has_its_name);
    tcase_add_loop_test(tc, what_cannot_be_synced_or_renamed_is_not_kept, 0, 3);
    tcase_add_loop_test(tc, what_cannot_be_pinned_is_as_it_was, 0, 2);
    tcase_add_test(tc,
                   a_file_system_that_cannot_rename_without_overwriting_links);
    tcase_add_test(tc, a_kill_leaves_whole_ones);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
