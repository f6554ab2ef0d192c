/*
 * dw_walk PID - unwinds samples as walk_samples does, but by elfutils' libdw:
 * a third opinion, where perf's libunwind and ours differ (cpu_truth.py).
 *
 * Built by cpu_truth.py, where libdw-dev is there.
 */
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REGISTERS = 17, PC = 16, SP = 7, DEPTH_MAX = 4096, STACK_MAX = 1 << 16 };

static struct {
    uint64_t values[REGISTERS];
    uint64_t size;
    uint8_t bytes[STACK_MAX];
} sample;

static int depth;

static pid_t
next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
    (void)dwfl;
    if (*thread_arg)
        return 0;
    *thread_arg = arg;
    return getpid(); /* any but 0 */
}

static bool
read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *arg)
{
    uint64_t at = address - sample.values[SP];

    (void)dwfl;
    (void)arg;
    if (sample.size < 8 || at > sample.size - 8)
        return false;
    memcpy(out, sample.bytes + at, 8);
    return true;
}

static bool
set_registers(Dwfl_Thread *thread, void *arg)
{
    (void)arg;
    dwfl_thread_state_register_pc(thread, sample.values[PC]);
    return dwfl_thread_state_registers(thread, 0, REGISTERS, sample.values);
}

static int
put_frame(Dwfl_Frame *frame, void *arg)
{
    Dwarf_Addr pc;
    bool exact;

    (void)arg;
    if (!dwfl_frame_pc(frame, &pc, &exact) || depth == DEPTH_MAX)
        return DWARF_CB_ABORT;
    printf(" %" PRIx64, pc - !exact);
    depth++;
    return DWARF_CB_OK;
}

static int
put_thread(Dwfl_Thread *thread, void *arg)
{
    dwfl_thread_getframes(thread, put_frame, arg);
    return DWARF_CB_OK;
}

int
main(int argc, char **argv)
{
    static const Dwfl_Callbacks find = {.find_elf = dwfl_linux_proc_find_elf,
                                        .find_debuginfo =
                                            dwfl_standard_find_debuginfo};
    static const Dwfl_Thread_Callbacks state = {.next_thread = next_thread,
                                                .memory_read = read_memory,
                                                .set_initial_registers =
                                                    set_registers};
    pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
    Dwfl *dwfl = dwfl_begin(&find);

    if (!dwfl || dwfl_linux_proc_report(dwfl, pid) != 0 ||
        dwfl_report_end(dwfl, NULL, NULL) != 0 ||
        !dwfl_attach_state(dwfl, NULL, pid, &state, &sample)) {
        fprintf(stderr, "dw_walk: %s\n", dwfl_errmsg(-1));
        return 1;
    }
    while (fread(&sample, offsetof(__typeof__(sample), bytes), 1, stdin) == 1 &&
           sample.size <= STACK_MAX &&
           fread(sample.bytes, 1, sample.size, stdin) == sample.size) {
        depth = 0;
        printf("0");
        dwfl_getthreads(dwfl, put_thread, NULL);
        printf("\n");
    }
    dwfl_end(dwfl);
    return 0;
}
