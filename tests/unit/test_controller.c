/*
 * test_controller.c - jobs, joining, lateness and ends, against an agent that
 * does exactly what each test says.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "controller.h"
#include "errors.h"
#include "snapshot.h"
#include "suite.h"

static const char dump_text[] = "heap_v2/524288\n"
                                "  t*: 1: 1024 [0: 0]\n"
                                "@ 0x1000 0x2000\n"
                                "  t*: 1: 1024 [0: 0]\n"
                                "\nMAPPED_LIBRARIES:\n";

/* The scripted agent: one thread, answers when its gate is open. */
struct agent {
    char dir[64];
    pthread_t thread;
    int listener;
    pthread_mutex_t lock;
    bool stop, mute; /* mute: reads, answers later */
    struct agent_hello hello;
    int requests[AGENT_STATS + 1]; /* counted by op */
    char order[64];               /* ops as letters, hellos left out */
};

static void
answer(struct agent *agent, int fd, const struct agent_request *request)
{
    struct agent_reply reply = {.protocol = AGENT_PROTOCOL};
    char control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct iovec part = {&reply, sizeof(reply)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[2] = {-1, -1};

    reply.op = request->op;
    reply.id = request->id;
    if (request->op == AGENT_HELLO)
        reply.hello = agent->hello;
    if (request->op == AGENT_GET_ACTIVE)
        reply.value = agent->hello.active;
    if (request->op == AGENT_SET_ACTIVE)
        agent->hello.active = (uint32_t)request->number;
    if (request->op == AGENT_DUMP) {
        struct cmsghdr *c;

        for (int i = 0; i < 2; i++)
            fds[i] = memfd_create("test", MFD_CLOEXEC);
        ck_assert_int_eq(write(fds[0], dump_text, sizeof(dump_text) - 1),
                         (int)sizeof(dump_text) - 1);
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(fds));
        memcpy(CMSG_DATA(c), fds, sizeof(fds));
    }
    (void)!sendmsg(fd, &message, MSG_NOSIGNAL);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void
note(struct agent *agent, uint32_t op)
{
    static const char letters[] = "?hgsdot";
    size_t used = strlen(agent->order);

    agent->requests[op]++;
    if (op != AGENT_HELLO && used + 1 < sizeof(agent->order))
        agent->order[used] = letters[op];
}

static bool
locked(struct agent *agent, const bool *flag)
{
    bool value;

    pthread_mutex_lock(&agent->lock);
    value = *flag;
    pthread_mutex_unlock(&agent->lock);
    return value;
}

static void *
agent_main(void *arg)
{
    struct agent *agent = arg;
    int fd = -1;

    while (!locked(agent, &agent->stop)) {
        struct pollfd polls[2] = {{agent->listener, POLLIN, 0},
                                  {fd, POLLIN, 0}};
        struct agent_request request;

        poll(polls, 2, 20);
        if (polls[0].revents & POLLIN) {
            if (fd >= 0)
                close(fd);
            fd = accept(agent->listener, NULL, NULL);
            continue;
        }
        if (!polls[1].revents)
            continue;
        if (recv(fd, &request, sizeof(request), 0) != sizeof(request)) {
            close(fd);
            fd = -1;
            continue;
        }
        pthread_mutex_lock(&agent->lock);
        note(agent, request.op);
        pthread_mutex_unlock(&agent->lock);
        while (locked(agent, &agent->mute) && !locked(agent, &agent->stop))
            usleep(5000);
        pthread_mutex_lock(&agent->lock);
        answer(agent, fd, &request);
        pthread_mutex_unlock(&agent->lock);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void
agent_start(struct agent *agent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memset(agent, 0, sizeof(*agent));
    strcpy(agent->dir, "/tmp/hw-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(agent->dir));
    pthread_mutex_init(&agent->lock, NULL);
    agent->hello.pid = getpid();
    agent->hello.allocator = AGENT_OK;
    strcpy(agent->hello.exe, "/usr/bin/test");
    agent->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", agent->dir,
             AGENT_SOCKET);
    ck_assert_int_eq(
        bind(agent->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(agent->listener, 8), 0);
    ck_assert_int_eq(pthread_create(&agent->thread, NULL, agent_main, agent),
                     0);
}

static void
agent_set(struct agent *agent, bool *flag, bool value)
{
    pthread_mutex_lock(&agent->lock);
    *flag = value;
    pthread_mutex_unlock(&agent->lock);
}

static int
agent_count(struct agent *agent, enum agent_op op)
{
    int count;

    pthread_mutex_lock(&agent->lock);
    count = agent->requests[op];
    pthread_mutex_unlock(&agent->lock);
    return count;
}

static void
agent_stop(struct agent *agent)
{
    char path[128];

    agent_set(agent, &agent->stop, true);
    pthread_join(agent->thread, NULL);
    close(agent->listener);
    snprintf(path, sizeof(path), "%s/%s", agent->dir, AGENT_SOCKET);
    unlink(path);
    rmdir(agent->dir);
}

static struct controller *
start_controller(const char *dir)
{
    struct controller_options options = {.state_dir = dir,
                                         .symbolizer = "/nonexistent"};
    struct error err;
    struct controller *controller = controller_start(&options, &err);

    ck_assert_msg(controller != NULL, "%s", err.text);
    return controller;
}

static void
wait_for_state(struct controller *controller, enum node_state state)
{
    struct node_status status;

    for (int i = 0; i < 700; i++) {
        controller_status(controller, &status);
        if (status.state == state)
            return;
        usleep(10000);
    }
    ck_abort_msg("the node is in state %d, not %d", status.state, state);
}

static void
post(void *arg)
{
    sem_post(arg);
}

static enum ticket_state
wait_for(struct ticket *ticket, sem_t *woken, struct job_result *result,
         struct error *err)
{
    enum ticket_state state;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    while ((state = ticket_poll(ticket, result, err)) == TICKET_WAITING)
        if (sem_timedwait(woken, &until) != 0)
            ck_abort_msg("never woken");
    return state;
}

START_TEST(without_an_agent_every_request_fails_at_once)
{
    char dir[] = "/tmp/hw-test-XXXXXX";
    struct controller *c;
    struct waker waker = {post, NULL};
    struct error err;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    c = start_controller(dir);
    ck_assert_ptr_null(controller_submit(c, JOB_GET_ACTIVE, waker, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "no database"));
    controller_stop(c);
    rmdir(dir);
}
END_TEST

START_TEST(profiling_is_switched_and_read)
{
    struct agent agent;
    struct controller *c;
    struct job_result result = {0};
    struct ticket *ticket;
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    for (int on = 1; on >= 0; on--) {
        ticket =
            controller_submit(c, on ? JOB_ENABLE : JOB_DISABLE, waker, &err);
        ck_assert_int_eq(wait_for(ticket, &woken, &result, &err), TICKET_DONE);
        ticket_free(ticket);
        ticket = controller_submit(c, JOB_GET_ACTIVE, waker, &err);
        ck_assert_int_eq(wait_for(ticket, &woken, &result, &err), TICKET_DONE);
        ck_assert_int_eq(result.active, on);
        ticket_free(ticket);
    }
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(requests_join_the_next_dump_and_changes_separate_them)
{
    static const enum job_kind kinds[] = {
        JOB_PROFILE, JOB_PROFILE, JOB_SNAPSHOT, JOB_PROFILE,
        JOB_ENABLE,  JOB_PROFILE, JOB_PROFILE};
    struct ticket *tickets[7];
    struct snapshot *first = NULL;
    struct agent agent;
    struct controller *c;
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};
    char name[SNAPSHOT_NAME_MAX + 1] = "";

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    tickets[0] = controller_submit(c, kinds[0], waker, &err);
    while (agent_count(&agent, AGENT_DUMP) == 0) /* it runs, and is held */
        usleep(10000);
    for (int i = 1; i < 7; i++)
        tickets[i] = controller_submit(c, kinds[i], waker, &err);
    agent_set(&agent, &agent.mute, false);
    for (int i = 0; i < 7; i++) {
        struct job_result result = {0};

        ck_assert_int_eq(wait_for(tickets[i], &woken, &result, &err),
                         TICKET_DONE);
        if (i == 1)
            first = snapshot_ref(result.snapshot);
        if (i == 2) {
            ck_assert_ptr_eq(result.snapshot, first);
            strcpy(name, result.snapshot->name);
        }
        snapshot_unref(result.snapshot);
        ticket_free(tickets[i]);
    }
    snapshot_unref(first);
    ck_assert_str_eq(agent.order, "ddsd");
    first = controller_snapshot(c, name, &err);
    ck_assert_ptr_nonnull(first);
    snapshot_unref(first);
    ck_assert_ptr_null(controller_snapshot(c, "heap_x", &err));
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(a_late_agent_is_left_alone_and_taken_back)
{
    struct agent agent;
    struct controller *c;
    struct job_result result = {0};
    struct ticket *ticket;
    struct error err;
    uint64_t start;
    int before, after;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    start = clock_ms();
    ticket = controller_submit(c, JOB_GET_ACTIVE, waker, &err);
    ck_assert_int_eq(wait_for(ticket, &woken, &result, &err), TICKET_FAILED);
    ck_assert_uint_lt(clock_ms() - start, 5000);
    ck_assert_ptr_nonnull(strstr(err.text, "not responding since"));
    ticket_free(ticket);

    start = clock_ms();
    before = agent_count(&agent, AGENT_GET_ACTIVE) +
             agent_count(&agent, AGENT_HELLO);
    for (int i = 0; i < 100; i++) {
        ck_assert_ptr_null(controller_submit(c, JOB_PROFILE, waker, &err));
        usleep(2000);
    }
    ck_assert_uint_lt(clock_ms() - start, 2000);
    after = agent_count(&agent, AGENT_GET_ACTIVE) +
            agent_count(&agent, AGENT_HELLO);
    ck_assert_int_eq(before, after);

    agent_set(&agent, &agent.mute, false);
    wait_for_state(c, NODE_CONNECTED);
    ticket = controller_submit(c, JOB_GET_ACTIVE, waker, &err);
    ck_assert_int_eq(wait_for(ticket, &woken, &result, &err), TICKET_DONE);
    ticket_free(ticket);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(a_cancelled_wait_leaves_the_job_to_others)
{
    struct agent agent;
    struct controller *c;
    struct job_result result = {0};
    struct ticket *one, *two;
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    ticket_free(controller_submit(c, JOB_PROFILE, waker, &err));
    one = controller_submit(c, JOB_PROFILE, waker, &err);
    two = controller_submit(c, JOB_PROFILE, waker, &err);
    ticket_free(one);
    agent_set(&agent, &agent.mute, false);
    ck_assert_int_eq(wait_for(two, &woken, &result, &err), TICKET_DONE);
    snapshot_unref(result.snapshot);
    ticket_free(two);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(given_up_requests_do_not_fill_the_queue)
{
    struct agent agent;
    struct controller *c;
    struct ticket *first, *ticket;
    struct job_result result = {0};
    struct error err;
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_set(&agent, &agent.mute, true);
    first = controller_submit(c, JOB_PROFILE, waker, &err);
    while (agent_count(&agent, AGENT_DUMP) == 0)
        usleep(10000);
    for (int i = 0; i < 200; i++) {
        ticket = controller_submit(c, JOB_PROFILE, waker, &err);
        ck_assert_msg(ticket != NULL, "%d: %s", i, err.text);
        ticket_free(ticket);
    }
    for (int i = 0; i < 200; i++) { /* what changes things is not joined */
        ticket = controller_submit(c, JOB_ENABLE, waker, &err);
        if (!ticket)
            break;
        ticket_free(ticket);
    }
    ck_assert_ptr_null(ticket);
    ck_assert_ptr_nonnull(strstr(err.text, "64 requests are waiting"));
    agent_set(&agent, &agent.mute, false);
    ck_assert_int_eq(wait_for(first, &woken, &result, &err), TICKET_DONE);
    snapshot_unref(result.snapshot);
    ticket_free(first);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

START_TEST(an_ended_database_is_told_with_its_time)
{
    struct agent agent;
    struct controller *c;
    struct error err;
    struct waker waker = {post, NULL};

    agent_start(&agent);
    agent.hello.pid = 0x3ffffff; /* above any pid */
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    agent_stop(&agent);
    wait_for_state(c, NODE_GONE);
    ck_assert_ptr_null(controller_submit(c, JOB_ENABLE, waker, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "ended at 20"));
    controller_stop(c);
}
END_TEST

static const struct {
    enum agent_status allocator;
    enum job_kind kind;
    const char *says; /* NULL: it is allowed */
} allocators[] = {
    {AGENT_OK, JOB_ENABLE, NULL},
    {AGENT_PROF_OFF, JOB_GET_ACTIVE, NULL},
    {AGENT_PROF_OFF, JOB_ENABLE,
     "MALLOC_CONF=prof:true,prof_active:false in its environment"},
    {AGENT_PROF_OFF, JOB_PROFILE, "opt.prof off"},
    {AGENT_NO_PROF, JOB_ENABLE, "without --enable-prof"},
    {AGENT_NO_JEMALLOC, JOB_GET_ACTIVE, "does not allocate through jemalloc"},
    {AGENT_NO_JEMALLOC, JOB_SNAPSHOT, "does not allocate through jemalloc"},
};

START_TEST(what_jemalloc_cannot_do_is_said)
{
    struct agent agent;
    struct controller *c;
    struct ticket *ticket;
    struct error err = {0};
    sem_t woken;
    struct waker waker = {post, &woken};

    sem_init(&woken, 0, 0);
    agent_start(&agent);
    pthread_mutex_lock(&agent.lock);
    agent.hello.allocator = allocators[_i].allocator;
    strcpy(agent.hello.malloc_conf_name, "MALLOC_CONF");
    pthread_mutex_unlock(&agent.lock);
    c = start_controller(agent.dir);
    wait_for_state(c, NODE_CONNECTED);
    ticket = controller_submit(c, allocators[_i].kind, waker, &err);
    if (allocators[_i].says) {
        ck_assert_ptr_null(ticket);
        ck_assert_msg(strstr(err.text, allocators[_i].says) != NULL, "%s",
                      err.text);
    } else {
        ck_assert_ptr_nonnull(ticket);
    }
    ticket_free(ticket);
    controller_stop(c);
    agent_stop(&agent);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("controller");
    TCase *tc = tcase_create("controller");

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, without_an_agent_every_request_fails_at_once);
    tcase_add_test(tc, profiling_is_switched_and_read);
    tcase_add_test(tc, requests_join_the_next_dump_and_changes_separate_them);
    tcase_add_test(tc, a_late_agent_is_left_alone_and_taken_back);
    tcase_add_test(tc, a_cancelled_wait_leaves_the_job_to_others);
    tcase_add_test(tc, given_up_requests_do_not_fill_the_queue);
    tcase_add_test(tc, an_ended_database_is_told_with_its_time);
    tcase_add_loop_test(tc, what_jemalloc_cannot_do_is_said, 0,
                        sizeof(allocators) / sizeof(allocators[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
