/* run.c - see run.h. */
#include "run.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "companion.h"
#include "errors.h"
#include "supervised_env.h"

void
run_say(const char *text, const char *then)
{
    fprintf(stderr, "heapwire-run: %s%s\n", text, then);
}

/* In the build tree and installed: both relative to our own executable. */
bool
run_find_beside(const char *self, const char *const places[], int mode,
                char out[PATH_MAX])
{
    for (; *places; places++) {
        if (snprintf(out, PATH_MAX, "%s/%s", self, *places) < PATH_MAX &&
            access(out, mode) == 0)
            return true;
    }
    out[0] = '\0';
    return false;
}

int
run_find_parts(struct run *run, struct error *err)
{
    static const char *const servers[] = {"heapwired",
                                          "../lib/heapwire/heapwired", NULL};
    static const char *const libraries[] = {
        "../lib/libheapwire.so", "../lib/heapwire/libheapwire.so", NULL};
    static const char *const recorders[] = {
        "../lib/libheapwire-recorder.so",
        "../lib/heapwire/libheapwire-recorder.so", NULL};
    char self[PATH_MAX], library[PATH_MAX], recorder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n < 0) {
        error_sys(err, ER_UNKNOWN, "cannot read /proc/self/exe");
        return -1;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    if (!run_find_beside(self, servers, X_OK, run->heapwired_path)) {
        error_set(err, ER_UNKNOWN, "there is no heapwired beside %s", self);
        return -1;
    }
    if (!run_find_beside(self, libraries, R_OK, library) ||
        !realpath(library, run->library)) {
        error_set(err, ER_UNKNOWN, "there is no libheapwire.so beside %s",
                  self);
        return -1;
    }
    if (!run_find_beside(self, recorders, R_OK, recorder) ||
        !realpath(recorder, run->recorder))
        run->recorder[0] = '\0';
    return 0;
}

/* The environment gives heapwired the period of its signs of life. */
int
run_plan_heartbeat(struct run *run, struct error *err)
{
    uint64_t seconds =
        strtoull(run->options.value[SETTING_HEARTBEAT], NULL, 10);
    char text[24];

    run->plan.beat_ms = seconds * 1000 / BEATS_MISSED;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)run->plan.beat_ms);
    return environment_set(&run->heapwired, SUPERVISED_ENV, text, err);
}

/* heapwired has checked that the name exists. */
static uid_t
find_user(const char *name)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
    struct passwd *entry = *name ? getpwnam(name) : NULL;

    return entry ? entry->pw_uid : (uid_t)-1;
}

void
run_plan_heapwired(struct run *run)
{
    options_argv(&run->options, run->heapwired_path, NULL, run->heapwired_argv);
    run->plan.heapwired = run->heapwired_path;
    run->plan.heapwired_argv = (char *const *)run->heapwired_argv;
    run->plan.heapwired_envp = run->heapwired.list;
    run->plan.state_dir = run->options.value[SETTING_STATE_DIR];
    run->plan.user = find_user(run->options.value[SETTING_USER]);
    run->plan.linger_ms =
        strtoull(run->options.value[SETTING_LINGER], NULL, 10) * 1000;
}

/* Prints where to find it: the only line of a faultless start. */
void
run_say_places(const struct run *run)
{
    char *const *value = run->options.value;
    const char *listen = value[SETTING_LISTEN];
    const char *http = value[SETTING_HTTP];
    bool tcp = strcmp(listen, "none") != 0, web = strcmp(http, "none") != 0;

    fprintf(stderr, "heapwire-run: socket %s%s%s%s%s, log %s\n",
            value[SETTING_SOCKET],
            tcp ? ", port (for accounts with a password) " : "",
            tcp ? listen : "", web ? ", page (for accounts) http://" : "",
            web ? http : "", value[SETTING_LOG]);
}
