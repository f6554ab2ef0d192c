/*
 * sampler_driver.c - samples a process, for sampler.py and bench/sampler.py.
 *
 *   sampler_driver PID MILLISECONDS HZ any|perf|ptrace cpu|kernel|wall
 * [refused...]
 *
 * refused: numbers of system calls that a seccomp filter answers with EPERM, as
 * containers' do.  Prints the report, a line "name value" each; or the error.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "errors.h"
#include "sampler.h"

static int
on_sample(void *arg, const struct sample *sample, struct error *err)
{
    uint64_t *sum = arg;

    (void)err;
    *sum += sample->nanoseconds;
    return 0;
}

static int
refuse(unsigned number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int
main(int argc, char **argv)
{
    static const char *const ways[] = {"any", "perf", "ptrace"};
    struct sampler_options options = {0};
    struct sampler_report r;
    struct error err;
    uint64_t sum = 0;

    if (argc < 6)
        return 2;
    options.pid = atoi(argv[1]);
    options.milliseconds = (uint32_t)atoi(argv[2]);
    options.hz = (uint32_t)atoi(argv[3]);
    for (int i = 0; i < 3; i++) {
        if (strcmp(argv[4], ways[i]) == 0)
            options.way = (enum sampler_way)i;
    }
    options.wall = strcmp(argv[5], "wall") == 0;
    options.kernel = strcmp(argv[5], "kernel") == 0;
    for (int i = 6; i < argc; i++) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            refuse((unsigned)atoi(argv[i])) != 0)
            return 2;
    }
    if (sampler_run(&options, on_sample, &sum, &r, &err) != 0) {
        printf("error %s\n", err.text);
        return 1;
    }
    printf("way %s\nmilliseconds %u\nhz %u\nsamples %llu\nsampled_ms %llu\n"
           "processor_ms %llu\nlost %llu\nthreads %u\nunseen %u\nended %d\n"
           "kernel %d\nstops %llu\npause_total_us %llu\npause_max_us %llu\n"
           "why_not_better %s\n",
           ways[r.way], r.milliseconds, r.hz, (unsigned long long)r.samples,
           (unsigned long long)sum / 1000000,
           (unsigned long long)r.processor_ms, (unsigned long long)r.lost,
           r.threads, r.unseen, r.ended, r.kernel, (unsigned long long)r.stops,
           (unsigned long long)r.pause_total_us,
           (unsigned long long)r.pause_max_us, r.why_not_better);
    return 0;
}
