/*
 * agent_tools.c - see agent_tools.h.  No heap and no stdio streams: both are
 * the host's, and nobody may be left to release their locks in a forked child.
 * Only realpath() may allocate, for a path that is longer than its buffer.
 */
#include "agent_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process_stat.h"

static atomic_bool quiet;

void
agent_log(const char *format, ...)
{
    static const char prefix[] = "heapwire: ";
    char line[512];
    size_t size = sizeof(prefix) - 1;
    va_list args;
    int n;

    if (quiet)
        return;
    memcpy(line, prefix, size);
    va_start(args, format);
    n = vsnprintf(line + size, sizeof(line) - size - 1, format, args);
    va_end(args);
    if (n < 0)
        return;
    size = strnlen(line, sizeof(line) - 2);
    line[size++] = '\n';
    while (write(STDERR_FILENO, line, size) < 0 && errno == EINTR)
        ;
}

void
agent_quiet(void)
{
    quiet = true;
}

/* As read_clock_ms() of plugin/base, of which the agent has no part. */
static int64_t
read_agent_clock_ms(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
agent_monotonic_ms(void)
{
    return read_agent_clock_ms(CLOCK_MONOTONIC);
}

int64_t
agent_wall_ms(void)
{
    return read_agent_clock_ms(CLOCK_REALTIME);
}

const char *
agent_env_value(const char *entry, const char *name)
{
    size_t size = strlen(name);

    return strncmp(entry, name, size) == 0 && entry[size] == '='
               ? entry + size + 1
               : NULL;
}

const char *
agent_env(char *const *envp, const char *name)
{
    const char *value = NULL;

    for (; envp && *envp && !value; envp++)
        value = agent_env_value(*envp, name);
    return value;
}

bool
agent_runs_file(const char *path)
{
    char self[AGENT_PATH_MAX], real[PATH_MAX];
    ssize_t n = path ? readlink("/proc/self/exe", self, sizeof(self) - 1) : -1;

    if (n <= 0)
        return false;
    self[n] = '\0';
    return strcmp(self, path) == 0 ||
           (realpath(path, real) && strcmp(self, real) == 0);
}

/* Parses /proc/self/environ byte by byte, since a variable may be longer than
 * the buffer. */
bool
agent_initial_env(const char *name, char *out, size_t size)
{
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    enum { NAME, VALUE, OTHER, FOUND } at = NAME;
    size_t matched = 0, used = 0;
    char bytes[1024];
    ssize_t n = 0;

    while (fd >= 0 && at != FOUND &&
           ((n = read(fd, bytes, sizeof(bytes))) > 0 ||
            (n < 0 && errno == EINTR))) {
        for (ssize_t i = 0; i < n && at != FOUND; i++) {
            if (bytes[i] == '\0') {
                at = at == VALUE ? FOUND : NAME;
                matched = 0;
            } else if (at == VALUE) {
                if (used + 1 < size)
                    out[used++] = bytes[i];
            } else if (at == NAME && bytes[i] == name[matched]) {
                matched++;
            } else if (at == NAME) {
                at = bytes[i] == '=' && !name[matched] ? VALUE : OTHER;
            }
        }
    }
    if (fd >= 0)
        close(fd);
    out[used] = '\0';
    return at == FOUND;
}

int
agent_write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

int
agent_read_small(const char *path, char *out, int size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), used = 0;
    ssize_t n = 0;

    if (fd < 0)
        return -1;
    while (used < size - 1) {
        n = read(fd, out + used, (size_t)(size - 1 - used));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (int)n;
    }
    close(fd);
    out[used] = '\0';
    return n < 0 ? -1 : used;
}

/* The path that was executed, as long as it leads to the executable: Debian's
 * redis-server is a link to redis-check-rdb, and users know the first. */
static void
find_started_executable(char *out, size_t size)
{
    const char *started = (const char *)getauxval(AT_EXECFN);
    struct stat link, exe;
    ssize_t n;

    if (started && *started == '/' && strlen(started) < size &&
        stat(started, &link) == 0 && stat("/proc/self/exe", &exe) == 0 &&
        link.st_dev == exe.st_dev && link.st_ino == exe.st_ino) {
        memcpy(out, started, strlen(started) + 1);
        return;
    }
    n = readlink("/proc/self/exe", out, size - 1);
    out[n < 0 ? 0 : n] = '\0';
}

void
agent_identify(struct agent_hello *hello)
{
    struct process_stat own;

    hello->pid = getpid();
    hello->start_ticks = process_stat_read(0, &own) ? own.start_ticks : 0;
    if (agent_read_small("/proc/sys/kernel/random/boot_id", hello->boot_id,
                         sizeof(hello->boot_id)) > 0)
        hello->boot_id[strcspn(hello->boot_id, "\n")] = '\0';
    find_started_executable(hello->exe, sizeof(hello->exe));
}

/* ---- settings ---- */

static bool
is_heapwire_setting(const char *text)
{
    return strncmp(text, AGENT_ENV_PREFIX, sizeof(AGENT_ENV_PREFIX) - 1) == 0;
}

const char *
agent_settings_get(const char *settings, const char *name)
{
    size_t size = strlen(name);

    for (; *settings; settings += strlen(settings) + 1) {
        if (strncmp(settings, name, size) == 0 && settings[size] == '=')
            return settings + size + 1;
    }
    return NULL;
}

const char *
agent_settings_next(const char *value, const char *name)
{
    return agent_settings_get(value + strlen(value) + 1, name);
}

/* Appends a setting of that length; room is left for the NUL that ends all. */
static int
append_setting_line(char settings[AGENT_SETTINGS_MAX], size_t *used,
                    const char *text, size_t size)
{
    if (size + 2 > AGENT_SETTINGS_MAX - *used)
        return E2BIG;
    memcpy(settings + *used, text, size);
    settings[*used + size] = '\0';
    *used += size + 1;
    settings[*used] = '\0';
    return 0;
}

static int
check_state_dir_setting(const char *settings)
{
    const char *dir = agent_settings_get(settings, AGENT_ENV_STATE);

    return dir && dir[0] == '/' && strlen(dir) < AGENT_PATH_MAX ? 0 : EINVAL;
}

int
agent_settings_take_lines(char settings[AGENT_SETTINGS_MAX], const char *lines)
{
    size_t used = 0;
    int error = 0;

    settings[0] = '\0';
    while (*lines && error == 0) {
        size_t size = strcspn(lines, "\n");

        if (size > 0) {
            if (!is_heapwire_setting(lines) || !memchr(lines, '=', size))
                return EINVAL;
            error = append_setting_line(settings, &used, lines, size);
        }
        lines += size + (lines[size] == '\n');
    }
    return error != 0 ? error : check_state_dir_setting(settings);
}

int
agent_settings_take_environment(char settings[AGENT_SETTINGS_MAX],
                                char *const *envp)
{
    size_t used = 0;
    int error = 0;

    settings[0] = '\0';
    for (; envp && *envp && error == 0; envp++) {
        if (is_heapwire_setting(*envp))
            error = append_setting_line(settings, &used, *envp, strlen(*envp));
    }
    return error != 0 ? error : check_state_dir_setting(settings);
}
