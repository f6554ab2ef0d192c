/*
 * recorder_driver.c - starts a program with the recorder, and prints what its
 * segment says.
 *
 * recorder_driver LIBRARY MEAN CAP SAMPLES OUT PROGRAM [ARGUMENT...]
 *
 * RECORDER_PATCH in the environment is the prefix of the program's own malloc,
 * which is patched; where it cannot be, that is an answer's "error".
 * MEAN "off": not yet.  OUT is the program's standard output.  Commands,
 * one a line: "read" prints the segment, "wish ACTIVE MEAN" changes the wish,
 * "kill" kills the program, "wait" waits for its end.  Each answers, and ends
 * with a line ".".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errors.h"
#include "make_plan.h"
#include "patch_plan.h"
#include "segment_layout.h"
#include "segment_make.h"
#include "segment_read.h"

static int segment = -1;
static pid_t program;
static struct error unpatched; /* text: "": it could be, or need not */

static void
print_stack(const struct segment_copy *copy, uint32_t i)
{
    struct segment_stack_seen s;
    uint64_t pc;
    uint32_t module;

    if (!segment_copy_stack(copy, i, &s))
        return;
    printf("stack %.17g %.17g %.17g %.17g %.17g %.17g", s.live_bytes,
           s.live_objects, s.allocated_bytes, s.allocated_objects,
           s.freed_bytes, s.freed_objects);
    for (uint32_t n = 0; segment_copy_frame(copy, i, n, &pc, &module); n++)
        printf(" %" PRIx64 ":%d", pc, (int)module);
    printf("\n");
}

static void
print_module(const struct segment_copy *copy, uint32_t i)
{
    struct segment_module m;

    if (!segment_copy_module(copy, i, &m))
        return;
    printf("module %u %" PRIx64 " %" PRIx64 " %" PRIx64 " ", i, m.start, m.end,
           m.base);
    for (uint32_t n = 0; n < m.build_id_size; n++)
        printf("%02x", m.build_id[n]);
    printf(
        " %.*s\n",
        (int)(m.path_size < SEGMENT_PATH_MAX ? m.path_size : SEGMENT_PATH_MAX),
        m.path);
}

static void
print_copy(const struct segment_copy *copy)
{
    const struct segment_header *h = segment_copy_header(copy);
    struct segment_thread thread;
    struct segment_sample sample;
    double weight;

    if (*unpatched.text)
        printf("error %s\n", unpatched.text);
    printf("header patch=%u owner=%" PRIu64 " executions=%u mean=%" PRIu64
           " live=%" PRIu64 " lost_samples=%" PRIu64 " lost_stacks=%" PRIu64
           " doublings=%" PRIu64 "\n",
           h->patch, h->owner, h->executions, h->mean_bytes, h->live_samples,
           h->lost_samples, h->lost_stacks, h->doublings);
    for (uint32_t i = 0; i < segment_copy_count(copy, SEGMENT_MODULES); i++)
        print_module(copy, i);
    for (uint32_t i = 0; i < segment_copy_count(copy, SEGMENT_STACKS); i++)
        print_stack(copy, i);
    for (uint32_t i = 0; i < segment_copy_count(copy, SEGMENT_THREADS); i++) {
        if (segment_copy_thread(copy, i, &thread))
            printf("thread %u %u %.16s\n", thread.tid, thread.generation,
                   thread.name);
    }
    for (uint32_t i = 0; i < segment_copy_count(copy, SEGMENT_SAMPLES); i++) {
        if (segment_copy_sample(copy, i, &sample, &weight) &&
            segment_copy_thread(copy, sample.thread, &thread))
            printf("sample %" PRIx64 " %" PRIu64 " %u %u %.17g %" PRIu64 "\n",
                   sample.key, sample.size, sample.stack, thread.tid, weight,
                   sample.time_ns);
    }
}

static void
read_segment(void)
{
    struct error err;
    struct segment_copy *copy = segment_read(segment, &err);

    if (!copy || segment_copy_check(copy, &err) != 0)
        printf("error %s\n", err.text);
    if (copy)
        print_copy(copy);
    segment_copy_free(copy);
}

static void
set_recorder_settings(uint32_t active, uint64_t mean, uint32_t cap)
{
    struct segment_settings settings = {active, cap, mean};

    if (pwrite(segment, &settings, sizeof(settings),
               (off_t)offsetof(struct segment_header, settings)) !=
        (ssize_t)sizeof(settings))
        perror("pwrite");
}

static void
obey(const char *line)
{
    int status;

    if (strcmp(line, "read\n") == 0)
        read_segment();
    else if (strncmp(line, "wish ", 5) == 0)
        set_recorder_settings((uint32_t)atoi(line + 5),
                              strtoull(strchr(line + 5, ' '), NULL, 10), 0);
    else if (strcmp(line, "kill\n") == 0)
        kill(program, SIGKILL);
    else if (strcmp(line, "wait\n") == 0 && waitpid(program, &status, 0) > 0)
        printf("status %d\n", status);
    printf(".\n");
    fflush(stdout);
}

static void
plan_patch(const char *path)
{
    const char *prefix = getenv("RECORDER_PATCH");
    int fd = prefix ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    char text[PATCH_TEXT_MAX];
    struct patch_plan plan;

    if (!prefix)
        return;
    if (patch_plan_make(fd, prefix, &plan, &unpatched) == 0 &&
        patch_plan_write(&plan, text))
        setenv(PATCH_ENV, text, 1);
    close(fd);
}

static void
run_program(char **argv)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", segment);
    setenv("HEAPWIRE_RECORDER", number, 1);
    setenv("LD_PRELOAD", argv[1], 1);
    if (dup2(atoi(argv[5]), 1) < 0 || !freopen("/dev/null", "r", stdin))
        _exit(126);
    execvp(argv[6], argv + 6);
    perror(argv[6]);
    _exit(127);
}

int
main(int argc, char **argv)
{
    struct segment_capacity capacity = segment_capacity_default();
    struct segment_header header;
    char line[256];

    if (argc < 7)
        return 64;
    capacity.samples = (uint32_t)strtoul(argv[4], NULL, 10);
    if (!segment_plan(&capacity, &header))
        return 1;
    header.settings = (struct segment_settings){strcmp(argv[2], "off") != 0,
                                                (uint32_t)atoi(argv[3]),
                                                strtoull(argv[2], NULL, 10)};
    segment = segment_make(&header);
    if (segment < 0)
        return 1;
    plan_patch(argv[6]);
    program = fork();
    if (program == 0)
        run_program(argv);
    close(atoi(argv[5]));
    while (fgets(line, sizeof(line), stdin))
        obey(line);
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    return 0;
}
