/*
 * test_agent_client.c - an agent that is late, ends, or says what no agent
 * says.
 *
 * The agent's end of the connection is in the test's hand: what it will answer
 * is sent before it is asked, for the ids are known.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "dump.h"
#include "errors.h"
#include "files.h"
#include "agent_client.h"
#include "node_status.h"
#include "objects.h"
#include "recorded_maps.h"
#include "suite.h"

enum {
    SOON_MS =
        3500, /* an answer is waited for for 4 s, but of what takes long */
    LATER_US = 5 * 1000 * 1000
};

static struct agent_client client;
static int agent, wake_pipe[2];
static atomic_bool stop;

static void
set_up(void)
{
    int pair[2];

    ck_assert_int_eq(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(pipe2(wake_pipe, O_CLOEXEC), 0);
    stop = false;
    agent_client_init(&client, "/nonexistent", wake_pipe[0], &stop);
    client.fd = pair[0];
    client.peer = getpid();
    client.status.state = NODE_CONNECTED;
    client.status.hello.pid = 0x3ffffff;
    agent = pair[1];
}

static void
tear_down(void)
{
    agent_client_fini(&client);
    close(agent);
    close(wake_pipe[0]);
    close(wake_pipe[1]);
}

static int
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir)) // NOLINT(concurrency-mt-unsafe)
        count++;
    closedir(dir);
    return count;
}

/* Sends size bytes of a reply, with count copies of fd beside them. */
static void
say(const struct agent_reply *reply, size_t size, int fd, size_t count)
{
    static char bytes[2 * sizeof(*reply)];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {.bytes = {0}};
    int fds[4] = {fd, fd, fd, fd};
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    memcpy(bytes, reply, sizeof(*reply));
    if (count > 0) {
        struct cmsghdr *c;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    ck_assert_int_eq(sendmsg(agent, &message, MSG_DONTWAIT), (int)size);
}

static struct agent_reply
reply_to(uint64_t id)
{
    struct agent_reply reply = {.protocol = AGENT_PROTOCOL, .id = id};

    return reply;
}

static const struct {
    uint32_t protocol; /* 0: it hangs up */
    size_t size;
    const char *says;
} foreign[] = {
    {1, sizeof(struct agent_reply) - 64, "speaks protocol 1, of an older"},
    {1, sizeof(struct agent_reply), "speaks protocol 1, of an older"},
    {AGENT_PROTOCOL + 1, sizeof(struct agent_reply) + 8, "of a newer heapwire"},
    {0, 0, "closes the connection at the greeting: it is of an older heapwire"},
};

START_TEST(an_agent_of_another_release_is_named)
{
    struct agent_reply reply = reply_to(1);
    struct error err = {0};

    client.status.state = NODE_ABSENT;
    client.hung_up_peer = client.peer; /* it did so before */
    reply.protocol = foreign[_i].protocol;
    if (reply.protocol != 0)
        say(&reply, foreign[_i].size, -1, 0);
    else
        ck_assert_int_eq(shutdown(agent, SHUT_RDWR), 0);
    ck_assert(!agent_client_refresh(&client));
    ck_assert_int_eq(node_status_check(&client.status, &err), -1);
    ck_assert_msg(strstr(err.text, foreign[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "no database is served: the agent"));
    ck_assert_ptr_nonnull(strstr(err.text, "test_agent_client (pid "));
}
END_TEST

START_TEST(an_agent_that_hangs_up_once_may_be_making_way)
{
    client.status.state = NODE_ABSENT;
    ck_assert_int_eq(shutdown(agent, SHUT_RDWR), 0);
    ck_assert(!agent_client_refresh(&client));
    ck_assert_str_eq(client.status.note, "");
    ck_assert_int_eq(client.hung_up_peer, client.peer);
}
END_TEST

static const struct {
    const char *what;
    size_t size;
    uint64_t id;
    uint32_t protocol;
    size_t fds;
} nonsense[] = {
    {"another id", sizeof(struct agent_reply), 99, AGENT_PROTOCOL, 2},
    {"another protocol", sizeof(struct agent_reply), 1, AGENT_PROTOCOL + 1, 2},
    {"too short", sizeof(struct agent_reply) - 1, 1, AGENT_PROTOCOL, 2},
    {"too long", sizeof(struct agent_reply) + 1, 1, AGENT_PROTOCOL, 2},
    {"nothing but descriptors", 0, 1, AGENT_PROTOCOL, 2},
};

START_TEST(nonsense_ends_the_connection_and_leaks_nothing)
{
    struct agent_request request = {.op = AGENT_GET_ACTIVE};
    struct agent_reply reply = reply_to(nonsense[_i].id);
    struct agent_client_answer answer;
    struct error err = {0};
    int before = open_descriptors();
    uint64_t start = clock_ms();

    reply.protocol = nonsense[_i].protocol;
    say(&reply, nonsense[_i].size, agent, nonsense[_i].fds);
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), -1);
    ck_assert_uint_lt(clock_ms() - start, SOON_MS);
    ck_assert_int_eq(client.fd, -1);
    ck_assert_int_ne(client.status.state, NODE_CONNECTED);
    ck_assert_int_eq(open_descriptors(), before - 1);
    ck_assert_msg(err.text[0] != '\0', "%s", nonsense[_i].what);
}
END_TEST

START_TEST(texts_without_an_end_get_one)
{
    struct agent_request request = {.op = AGENT_GET_ACTIVE};
    struct agent_reply reply = reply_to(1);
    struct agent_client_answer answer;
    struct error err = {0};

    reply.status = AGENT_FAILED;
    memset(reply.text, 'x', sizeof(reply.text));
    memset(reply.hello.exe, 'y', sizeof(reply.hello.exe));
    say(&reply, sizeof(reply), -1, 0);
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), -1);
    ck_assert_uint_eq(strlen(answer.reply.text), sizeof(reply.text) - 1);
    ck_assert_uint_eq(strlen(answer.reply.hello.exe),
                      sizeof(reply.hello.exe) - 1);
    ck_assert_int_eq(client.status.state, NODE_CONNECTED);
}
END_TEST

START_TEST(more_descriptors_than_asked_for_are_closed)
{
    struct agent_request request = {.op = AGENT_OBJECT};
    struct agent_reply reply = reply_to(1);
    struct agent_client_answer answer;
    struct error err = {0};
    int before = open_descriptors();

    say(&reply, sizeof(reply), agent, 4);
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), 0);
    ck_assert_int_eq(open_descriptors(), before + AGENT_FDS_MAX);
    agent_client_answer_close(&answer);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(an_agent_that_ends_during_a_request_is_reported)
{
    struct agent_request request = {.op = AGENT_DUMP};
    struct agent_client_answer answer;
    struct error err = {0};

    ck_assert_int_eq(shutdown(agent, SHUT_WR), 0);
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), -1);
    ck_assert_int_eq(client.status.state, NODE_GONE); /* not its start */
    ck_assert_ptr_nonnull(strstr(err.text, "ended at 20"));
    ck_assert_int_eq(answer.fds[0], -1);
}
END_TEST

START_TEST(a_late_answer_is_taken_and_its_descriptors_closed)
{
    struct agent_request request = {.op = AGENT_DUMP};
    struct agent_reply reply = reply_to(1), hello = reply_to(2);
    struct agent_client_answer answer;
    struct error err = {0};
    int before = open_descriptors();

    stop = true; /* as short a deadline as there is */
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), -1);
    ck_assert_int_eq(client.status.state, NODE_UNRESPONSIVE);
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), -1);
    ck_assert_uint_eq(client.last_id, 1); /* it was not sent more */
    ck_assert(!agent_client_refresh(&client));
    ck_assert_int_eq(client.status.state, NODE_UNRESPONSIVE);
    say(&reply, sizeof(reply), agent, 2);
    hello.hello.pid = 7;
    say(&hello, sizeof(hello), -1, 0);
    ck_assert(agent_client_refresh(&client)); /* another incarnation */
    ck_assert_int_eq(client.status.state, NODE_CONNECTED);
    ck_assert_int_eq(client.status.hello.pid, 7);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

/* A slow but living agent: a database of a hundred gigabytes, or a busy
 * machine. */
START_TEST(what_takes_long_is_waited_for)
{
    static const enum agent_op ops[] = {AGENT_LEVER, AGENT_SMAPS};
    struct agent_request request = {.op = ops[_i]};
    struct agent_reply reply = reply_to(1);
    struct agent_client_answer answer;
    struct error err = {0};
    pid_t other = fork();

    ck_assert_int_ge(other, 0);
    if (other == 0) {
        usleep(LATER_US); /* longer than others are waited for */
        say(&reply, sizeof(reply), -1, 0);
        _exit(0);
    }
    ck_assert_msg(agent_client_call(&client, &request, &answer, &err) == 0,
                  "%s", err.text);
    ck_assert_int_eq(client.status.state, NODE_CONNECTED);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

START_TEST(stopped_and_ended_processes_are_reported)
{
    struct agent_request request = {.op = AGENT_GET_ACTIVE};
    struct agent_client_answer answer;
    struct error err = {0};
    pid_t child = fork();
    char path[64], text[1024] = "";
    FILE *file;

    if (child == 0)
        for (;;)
            pause();
    client.peer = child;
    snprintf(path, sizeof(path), "/proc/%d/stat", child);
    file = fopen(path, "re");
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
    fclose(file);
    ck_assert_int_eq(sscanf(strrchr(text, ')') + 1,
                            " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%*s %*s %*s %*s %*s %*s %*s %lu",
                            &client.status.hello.start_ticks),
                     1);
    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(child, NULL, WUNTRACED), child);
    stop = true;
    ck_assert_int_eq(agent_client_call(&client, &request, &answer, &err), -1);
    ck_assert(client.status.stopped);
    ck_assert_ptr_nonnull(strstr(err.text, "stopped by a signal"));
    ck_assert_int_eq(kill(child, SIGCONT), 0);
    ck_assert_int_eq(waitpid(child, NULL, WCONTINUED), child);
    agent_client_refresh(&client);
    ck_assert(!client.status.stopped);
    /* The connection ends, but not the process. */
    ck_assert_int_eq(shutdown(agent, SHUT_WR), 0);
    agent_client_refresh(&client);
    ck_assert_int_eq(client.status.state, NODE_ABSENT);
    ck_assert_int_eq(kill(child, SIGKILL), 0); /* a zombie has ended */
    ck_assert_int_eq(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
    agent_client_refresh(&client);
    ck_assert_int_eq(client.status.state, NODE_GONE);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static struct recorded_maps recorded = {.segment = -1};

START_TEST(a_dump_is_read_from_memory_only)
{
    struct agent_reply reply = reply_to(1);
    struct objects objects;
    struct dump dump = {0};
    struct error err = {0};
    uint64_t start = clock_ms();

    objects_init(&objects);
    say(&reply, sizeof(reply), wake_pipe[0], 2); /* would never end */
    ck_assert_int_eq(dump_take(&dump, &client, &objects, &recorded, &err), -1);
    ck_assert_uint_lt(clock_ms() - start, SOON_MS);
    ck_assert_ptr_nonnull(strstr(err.text, "no file in memory"));
    ck_assert_int_eq(client.status.state, NODE_CONNECTED);
    dump_fini(&dump);
    reply.id = 2;
    say(&reply, sizeof(reply), -1, 0);
    ck_assert_int_eq(dump_take(&dump, &client, &objects, &recorded, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no file in memory"));
    dump_fini(&dump);
    objects_fini(&objects);
}
END_TEST

static const struct {
    int seals;
    off_t size; /* more than the text: a hole */
    size_t max;
    bool mapped;
} sealed[] = {
    {F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 4096, 4096, true},
    {F_SEAL_SHRINK | F_SEAL_WRITE, 4096, 4095, false},
    {F_SEAL_WRITE, 4096, 4096, false},
    {F_SEAL_SHRINK, 4096, 4096, false},
    {0, 4096, 4096, false},
    {F_SEAL_SHRINK | F_SEAL_WRITE, 1 << 20, 1 << 20, false},
};

START_TEST(what_can_still_change_is_not_mapped)
{
    int fd = memfd_create("profile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char text[4096];
    size_t size = 0;
    void *map = NULL;

    memset(text, 'x', sizeof(text));
    ck_assert_int_eq(write(fd, text, sizeof(text)), (int)sizeof(text));
    ck_assert_int_eq(ftruncate(fd, sealed[_i].size), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, sealed[_i].seals), 0);
    ck_assert(fd_map_sealed(fd, sealed[_i].max, &map, &size) ==
              sealed[_i].mapped);
    if (map) {
        ck_assert_uint_eq(size, sizeof(text));
        ck_assert_int_eq(memcmp(map, text, size), 0);
        munmap(map, size);
    }
    close(fd);
    ck_assert(!fd_map_sealed(wake_pipe[0], 1 << 20, &map, &size));
    ck_assert(!fd_map_sealed(-1, 1 << 20, &map, &size));
}
END_TEST

/* The mappings are the node's text, too: not trusted. */
static const struct {
    const char *maps, *says; /* NULL: taken as it is */
} maps[] = {
    {"", NULL},
    {"garbage\n\xff\n", NULL},
    {"ffffffffffffffff-0 r-xp 0 0:0 1 /x\n", NULL},
    {"0-ffffffffffffffff r-xp ffffffffffffffff ffffffff:ffffffff "
     "18446744073709551615 /x\n",
     "not responding"}, /* asks for the object */
};

START_TEST(any_mappings_are_survived)
{
    struct agent_reply reply = reply_to(1);
    int fd = memfd_create("maps", MFD_CLOEXEC);
    struct objects objects;
    struct dump dump = {0};
    struct error err = {0};
    size_t size = strlen(maps[_i].maps);

    objects_init(&objects);
    ck_assert_int_eq(write(fd, maps[_i].maps, size), (int)size);
    say(&reply, sizeof(reply), fd, 2);
    close(fd);
    stop = true; /* what is asked next is not waited for */
    ck_assert_int_eq(dump_take(&dump, &client, &objects, &recorded, &err),
                     maps[_i].says ? -1 : 0);
    if (maps[_i].says)
        ck_assert_msg(strstr(err.text, maps[_i].says) != NULL, "%s", err.text);
    dump_fini(&dump);
    objects_fini(&objects);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("agent_client");
    TCase *tc = tcase_create("agent_client");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, an_agent_of_another_release_is_named, 0,
                        sizeof(foreign) / sizeof(foreign[0]));
    tcase_add_test(tc, an_agent_that_hangs_up_once_may_be_making_way);
    tcase_add_loop_test(tc, nonsense_ends_the_connection_and_leaks_nothing, 0,
                        sizeof(nonsense) / sizeof(nonsense[0]));
    tcase_add_test(tc, texts_without_an_end_get_one);
    tcase_add_test(tc, more_descriptors_than_asked_for_are_closed);
    tcase_add_test(tc, an_agent_that_ends_during_a_request_is_reported);
    tcase_add_test(tc, a_late_answer_is_taken_and_its_descriptors_closed);
    tcase_add_loop_test(tc, what_takes_long_is_waited_for, 0, 2);
    tcase_add_test(tc, stopped_and_ended_processes_are_reported);
    tcase_add_test(tc, a_dump_is_read_from_memory_only);
    tcase_add_loop_test(tc, what_can_still_change_is_not_mapped, 0,
                        sizeof(sealed) / sizeof(sealed[0]));
    tcase_add_loop_test(tc, any_mappings_are_survived, 0,
                        sizeof(maps) / sizeof(maps[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
