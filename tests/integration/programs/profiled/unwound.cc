/*
 * unwound MODE... - works for ever in one way that unwinders find hard; with
 * more modes, each in a thread of its own.  For cpu_truth.py.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile uint64_t sink;

NOINLINE static void
spin(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink = sink * 31 + i;
}

/* ---- the library's containers, callbacks, virtual calls ---- */

struct shape {
    virtual ~shape() = default;
    virtual double area(int depth) const = 0;
};

struct square : shape {
    NOINLINE double
    area(int depth) const override
    {
        return depth > 0 ? area(depth - 1) + 1 : std::sqrt(sink & 0xff);
    }
};

NOINLINE static void
work_mixed()
{
    std::map<std::string, std::vector<int>> map;
    std::vector<uint64_t> numbers;
    std::unique_ptr<shape> one(new square);

    for (int i = 0; i < 300; i++) {
        map["a key that is rather long " + std::to_string(i * 7919 % 300)]
            .push_back(i);
        numbers.push_back((uint64_t)i * 2654435761u % 1000);
    }
    std::function<bool(uint64_t, uint64_t)> less = [](uint64_t a, uint64_t b) {
        return a + (sink & 1) < b;
    };
    std::sort(numbers.begin(), numbers.end(), less);
    qsort(numbers.data(), numbers.size(), sizeof(numbers[0]),
          [](const void *a, const void *b) {
              auto x = *(const uint64_t *)a, y = *(const uint64_t *)b;

              return (x < y) - (x > y);
          });
    sink = sink + (uint64_t)one->area(40) + map.size();
}

/* ---- frames of unusual forms ---- */

NOINLINE static void
touch(char *bytes, size_t size)
{
    memset(bytes, (int)sink, size);
    sink = sink + (uint64_t)bytes[size / 2];
}

NOINLINE static void
work_frames(unsigned n)
{
    alignas(64) char wide[128]; /* the stack pointer is rounded down */
    char *varying = (char *)__builtin_alloca(16 + n % 5000);

    touch(wide, sizeof(wide));
    touch(varying, 16 + n % 5000);
    spin(20);
    if (n % 8)
        work_frames(n - 1);
}

/* ---- exceptions ---- */

struct guard {
    NOINLINE ~guard()
    {
        spin(3);
    }
};

NOINLINE static void
throw_deep(int depth)
{
    guard g;

    if (depth == 0)
        throw std::runtime_error("thrown");
    throw_deep(depth - 1);
    spin(1);
}

NOINLINE static void
work_exceptions()
{
    try {
        throw_deep(12);
    } catch (const std::exception &e) {
        sink = sink + strlen(e.what());
    }
}

/* ---- recursion ---- */

NOINLINE static uint64_t
recurse(unsigned depth)
{
    uint64_t below = depth > 0 ? recurse(depth - 1) : 0;

    spin(30);
    return below * 3 + sink;
}

/* ---- tail calls, and the PLT ---- */

NOINLINE static void tail_b(unsigned n);

NOINLINE static void
tail_a(unsigned n)
{
    spin(5);
    if (n > 0)
        tail_b(n - 1);
}

NOINLINE static void
tail_b(unsigned n)
{
    spin(5);
    if (n > 0)
        tail_a(n - 1);
}

NOINLINE static void
work_plt()
{
    for (int i = 0; i < 500; i++) /* each of them is short */
        sink = sink +
               (uint64_t)(abs(rand()) + toupper((int)sink & 0x7f) +
                          (int)strtol("7", nullptr, 10)) +
               (uint64_t)labs((long)sink) + (uint64_t)ffs((int)sink);
}

/* ---- the kernel ---- */

NOINLINE static void
work_clock()
{
    struct timespec now;

    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink = sink + (uint64_t)now.tv_nsec + (uint64_t)time(nullptr);
    }
}

NOINLINE static void
work_calls()
{
    for (int i = 0; i < 100; i++)
        sink = sink + (uint64_t)syscall(SYS_getppid) + (uint64_t)getuid();
}

/* ---- signals ---- */

NOINLINE static void
on_alarm(int)
{
    for (int i = 0; i < 40; i++)
        spin(1000);
}

NOINLINE static void
start_signals(bool own_stack)
{
    struct sigaction action = {};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    stack_t stack = {};

    stack.ss_size = 1 << 16;
    stack.ss_sp = malloc(stack.ss_size);
    if (own_stack)
        sigaltstack(&stack, nullptr);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART | (own_stack ? SA_ONSTACK : 0);
    sigaction(SIGALRM, &action, nullptr);
    setitimer(ITIMER_REAL, &every, nullptr);
}

/* ---- another stack ---- */

static ucontext_t main_context, fiber_context;

NOINLINE static void
run_fiber()
{
    for (;;) {
        spin(500);
        swapcontext(&fiber_context, &main_context);
    }
}

NOINLINE static void
work_fiber()
{
    static char stack[1 << 16];

    if (!fiber_context.uc_stack.ss_sp) {
        getcontext(&fiber_context);
        fiber_context.uc_stack.ss_sp = stack;
        fiber_context.uc_stack.ss_size = sizeof(stack);
        makecontext(&fiber_context, run_fiber, 0);
    }
    swapcontext(&main_context, &fiber_context);
}

/* ---- code that nothing describes ---- */

NOINLINE static void
called_by_jit()
{
    spin(100);
}

#if defined(__x86_64__)
NOINLINE static void
work_jit()
{
    /* push %rbp; mov %rsp,%rbp; mov $200,%ecx; 1: dec %ecx; jnz 1b;
     * mov $called_by_jit,%rax; call *%rax; pop %rbp; ret */
    static const unsigned char code[] = {
        0x55, 0x48, 0x89, 0xe5, 0xb9, 200,  0,    0,    0,
        0xff, 0xc9, 0x75, 0xfc, 0x48, 0xb8, 0,    0,    0,
        0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3};
    static unsigned char *page;
    void (*target)() = called_by_jit;
    void (*run)();

    if (!page) {
        page = (unsigned char *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(page, code, sizeof(code));
        memcpy(page + 15, &target, sizeof(target));
        mprotect(page, 4096, PROT_READ | PROT_EXEC);
    }
    memcpy(&run, &page, sizeof(run));
    run();
}
#else
NOINLINE static void
work_jit()
{
    called_by_jit();
}
#endif

/* ---- known shares: 60, 30 and 10 % ---- */

NOINLINE static void
burn_sixty()
{
    spin(60000);
    asm volatile("");
}

NOINLINE static void
burn_thirty()
{
    spin(30000);
    asm volatile("");
}

NOINLINE static void
burn_ten()
{
    spin(10000);
    asm volatile("");
}

NOINLINE static void
work_shares()
{
    burn_sixty();
    burn_thirty();
    burn_ten();
    asm volatile("");
}

static void *
work(void *arg)
{
    std::string mode((const char *)arg);

    pthread_setname_np(pthread_self(), mode.c_str());
    if (mode == "signals" || mode == "altstack")
        start_signals(mode == "altstack");
    for (unsigned n = 0;; n++) {
        if (mode == "mixed")
            work_mixed();
        else if (mode == "frames")
            work_frames(n % 100);
        else if (mode == "exceptions")
            work_exceptions();
        else if (mode == "recursion")
            sink = recurse(n % 300);
        else if (mode == "tail")
            tail_a(n % 50);
        else if (mode == "plt")
            work_plt();
        else if (mode == "clock")
            work_clock();
        else if (mode == "calls")
            work_calls();
        else if (mode == "signals" || mode == "altstack")
            work_mixed();
        else if (mode == "fiber")
            work_fiber();
        else if (mode == "jit")
            work_jit();
        else if (mode == "shares")
            work_shares();
        else
            exit(2);
    }
}

int
main(int argc, char **argv)
{
    pthread_t thread;

    for (int i = 2; i < argc; i++)
        pthread_create(&thread, nullptr, work, argv[i]);
    work(argv[1]);
}
