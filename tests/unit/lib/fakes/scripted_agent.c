/* scripted_agent.c - see scripted_agent.h. */
#include "scripted_agent.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char dump_text[] = "heap_v2/524288\n"
                                "  t*: 1: 1024 [0: 0]\n"
                                "@ 0x1000 0x2000\n"
                                "  t*: 1: 1024 [0: 0]\n"
                                "\nMAPPED_LIBRARIES:\n";

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
    if (request->op == AGENT_HELLO) {
        reply.hello = agent->hello;
        reply.error = agent->allocators ? AGENT_KNOWS_ALLOCATORS : 0;
        if (agent->note)
            snprintf(reply.text, sizeof(reply.text), "%s", agent->note);
    }
    if (request->op == AGENT_GET_ACTIVE)
        reply.value = agent->hello.active;
    if (request->op == AGENT_SET_ACTIVE)
        agent->hello.active = (uint32_t)request->number;
    if (request->op == AGENT_SET_ACTIVE)
        agent->seconds = request->seconds;
    if (request->op == AGENT_RESET) {
        agent->hello.resets++;
        agent->hello.lg_sample = (uint32_t)request->number;
        agent->forced = request->force != 0;
    }
    if (request->op == AGENT_STATS && !agent->statistics) {
        reply.status = AGENT_NOT_FOUND;
    } else if (request->op == AGENT_DUMP || request->op == AGENT_STATS ||
               request->op == AGENT_ALLOCATORS) {
        const char *text = request->op == AGENT_DUMP    ? dump_text
                           : request->op == AGENT_STATS ? agent->statistics
                                                        : agent->allocators;
        struct cmsghdr *c;

        for (int i = 0; i < 2; i++)
            fds[i] = memfd_create("test", MFD_CLOEXEC);
        ck_assert_int_eq(write(fds[0], text, strlen(text)), (int)strlen(text));
        if (request->op == AGENT_STATS && agent->growing) {
            agent->allocated_ever += agent->growing;
            dprintf(fds[0], "heapwire.allocated_ever %llu\n",
                    (unsigned long long)agent->allocated_ever);
        }
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
    static const char letters[] = "?hgsdotra";
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

void
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

void
agent_set(struct agent *agent, bool *flag, bool value)
{
    pthread_mutex_lock(&agent->lock);
    *flag = value;
    pthread_mutex_unlock(&agent->lock);
}

int
agent_count(struct agent *agent, enum agent_op op)
{
    int count;

    pthread_mutex_lock(&agent->lock);
    count = agent->requests[op];
    pthread_mutex_unlock(&agent->lock);
    return count;
}

void
agent_await(struct agent *agent, enum agent_op op)
{
    while (agent_count(agent, op) == 0)
        usleep(1000);
}

void
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

struct controller *
start_controller(const char *dir)
{
    struct controller_options options = {.state_dir = dir,
                                         .segment = -1,
                                         .symbolizer = "/nonexistent",
                                         .store = store_defaults};
    struct error err;
    struct controller *controller = controller_start(&options, &err);

    ck_assert_msg(controller != NULL, "%s", err.text);
    return controller;
}

void
wait_for_state(struct controller *controller, enum node_state state)
{
    struct node_status status;

    for (int i = 0; i < 6000; i++) {
        controller_status(controller, &status);
        if (status.state == state)
            return;
        usleep(10000);
    }
    ck_abort_msg("the node is in state %d, not %d", status.state, state);
}

void
post(void *arg)
{
    sem_post(arg);
}

enum flight_state
wait_for(struct seat *seat, sem_t *woken, struct job_result *result,
         struct error *err)
{
    enum flight_state state;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    while ((state = controller_poll_job(seat, result, err)) == FLIGHT_RUNS)
        if (sem_timedwait(woken, &until) != 0)
            ck_abort_msg("never woken");
    return state;
}
