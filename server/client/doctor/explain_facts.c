/*
 * explain_facts.c - learns from heapwire-run what a program's start would have:
 * see facts.h.
 *
 * heapwire-run --explain decides as a real start does, so asking it cannot
 * differ from what will happen.  It is started without a shell, so words of the
 * command stay as they are, and its output is read as "key value" lines.
 * Standard output and standard error are read at the same time, or it could
 * block on one while we wait for the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts.h"
#include "memory.h"

enum { EXPLAIN_OUTPUT_MAX = 64 << 10, WORDS_MAX = 1000 };

/* Answers the text behind words at the start of a line; NULL if the line starts
 * with something else. */
static char *
read_after(char *line, const char *words)
{
    size_t size = strlen(words);

    line += strspn(line, " ");
    if (strncmp(line, words, size) != 0 || line[size] != ' ')
        return NULL;
    return line + size + strspn(line + size, " ");
}

void
facts_read_explained(struct facts *facts, char *printed, char *warned)
{
    static const struct {
        const char *words;
        enum fact fact;
    } lines[] = {
        {"source", FACT_EXPLAIN_SOURCE},     {"kind", FACT_EXPLAIN_KIND},
        {"jemalloc", FACT_EXPLAIN_JEMALLOC}, {"advice", FACT_EXPLAIN_ADVICE},
        {"program", FACT_PROGRAM},
    };
    char *rest = NULL, *text;

    for (char *line = strtok_r(printed, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
            text = read_after(line, lines[i].words);
            /* the first one counts */
            if (text && !facts_get(facts, lines[i].fact))
                facts_set(facts, lines[i].fact, text);
        }
    text = strstr(warned, "heapwire-run: ");
    if (text)
        text += sizeof("heapwire-run: ") - 1;
    else
        text = warned;
    text[strcspn(text, "\n")] = '\0';
    if (*text)
        facts_set(facts, FACT_EXPLAIN_WARNING, text);
}

/* Finds the one beside this program, else the one that a shell would find. */
static void
find_heapwire_run(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *name;

    path[length > 0 ? length : 0] = '\0';
    name = strrchr(path, '/');
    if (name)
        snprintf(name + 1, size - (size_t)(name + 1 - path), "heapwire-run");
    if (!name || access(path, X_OK) != 0)
        snprintf(path, size, "heapwire-run");
}

/* Reads until both are closed.  What is over EXPLAIN_OUTPUT_MAX is read and
 * thrown away, so that the writer never blocks. */
static void
read_both(const int *fds, char *const *texts)
{
    struct pollfd polled[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
    size_t sizes[2] = {0, 0};
    char rest[512];
    ssize_t n;

    while ((polled[0].fd >= 0 || polled[1].fd >= 0) &&
           (poll(polled, 2, -1) >= 0 || errno == EINTR))
        for (int i = 0; i < 2; i++) {
            size_t room = EXPLAIN_OUTPUT_MAX - 1 - sizes[i];

            if (polled[i].fd < 0 || !polled[i].revents)
                continue;
            n = read(polled[i].fd, room ? texts[i] + sizes[i] : rest,
                     room ? room : sizeof(rest));
            if (n <= 0)
                polled[i].fd = -1;
            else if (room)
                sizes[i] += (size_t)n;
        }
    texts[0][sizes[0]] = texts[1][sizes[1]] = '\0';
}

static int
start_explain(char *const *command, const int *out, const int *said, pid_t *pid)
{
    char path[PATH_MAX], *words[WORDS_MAX + 4] = {path, "--explain", "--"};
    posix_spawn_file_actions_t actions;
    size_t count = 0;
    int failed;

    find_heapwire_run(path, sizeof(path));
    while (command[count] && count < WORDS_MAX) {
        words[count + 3] = command[count];
        count++;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, said[1], STDERR_FILENO);
    failed = posix_spawnp(pid, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

void
facts_add_program(struct facts *facts, char *const *command)
{
    char *texts[2] = {mem_alloc(EXPLAIN_OUTPUT_MAX),
                      mem_alloc(EXPLAIN_OUTPUT_MAX)};
    int out[2] = {-1, -1}, said[2] = {-1, -1}, failed = ENOMEM, status = 0;
    char why[256];
    pid_t pid;

    if (texts[0] && texts[1] && pipe2(out, O_CLOEXEC) == 0 &&
        pipe2(said, O_CLOEXEC) == 0)
        failed = start_explain(command, out, said, &pid);
    if (out[1] >= 0)
        close(out[1]);
    if (said[1] >= 0)
        close(said[1]);
    if (failed) {
        char text[128];

        snprintf(why, sizeof(why), "heapwire-run cannot be started: %s",
                 strerror_r(failed, text, sizeof(text)));
        facts_set(facts, FACT_EXPLAIN_ERROR, why);
    } else {
        read_both((int[]){out[0], said[0]}, texts);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        facts_read_explained(facts, texts[0], texts[1]);
        if (status != 0) {
            facts_set(facts, FACT_EXPLAIN_ERROR,
                      facts_get(facts, FACT_EXPLAIN_WARNING)
                          ? facts->text[FACT_EXPLAIN_WARNING]
                          : "heapwire-run --explain failed");
            facts_set(facts, FACT_EXPLAIN_WARNING, NULL);
        }
    }
    if (out[0] >= 0)
        close(out[0]);
    if (said[0] >= 0)
        close(said[0]);
    mem_free(texts[0]);
    mem_free(texts[1]);
}
