/* run_attached.c - --attach: heapwire in and beside a database that runs
 * already. */
#include "run.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "attach.h"
#include "buffer.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "state_dir.h"
#include "supervised_env.h"

enum { ENVIRONMENT_MAX = 2 << 20 };

/* heapwired runs as the database's user, which owns the state directory. */
static void
follow_user(struct run *run, const struct target *target)
{
    struct passwd *user;

    if (run->options.given[SETTING_USER] || target->uid == geteuid())
        return;
    user = getpwuid(target->uid); /* NOLINT: one thread */
    if (user)
        run->options.given[SETTING_USER] = run->user =
            mem_strdup(user->pw_name);
    else
        run_say("the database's user has no name here",
                ": name with --user one that may use its state directory");
}

/* The target's LD_PRELOAD; "": none, or it is unreadable. */
static void
read_preload(pid_t pid, char out[PATH_MAX])
{
    static const char name[] = "LD_PRELOAD=";
    struct buffer text;
    char path[32];

    out[0] = '\0';
    buffer_init(&text, ENVIRONMENT_MAX);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (file_read_all(path, &text, NULL) == 0) {
        for (size_t at = 0; at < text.size; at += strlen(text.data + at) + 1) {
            if (strncmp(text.data + at, name, strlen(name)) == 0)
                snprintf(out, PATH_MAX, "%s", text.data + at + strlen(name));
        }
    }
    buffer_fini(&text);
}

/* The executable that it runs, even if its name now has another file. */
static int
find_running(struct run *run, const struct target *target, struct error *err)
{
    struct stat now, running;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->pid);
    run->exe = mem_strdup(
        stat(target->exe, &now) == 0 && stat(path, &running) == 0 &&
                now.st_ino == running.st_ino && now.st_dev == running.st_dev
            ? target->exe
            : path);
    if (!run->exe)
        error_memory(err, path);
    return run->exe ? 0 : -1;
}

/* The agent's settings, which its environment would hold otherwise. */
static int
plan_settings(struct run *run, const struct target *target, struct buffer *out,
              struct error *err)
{
    static char *const nothing[] = {NULL};
    struct environment *env = &run->database;
    char preload[PATH_MAX];

    read_preload(target->pid, preload);
    if (environment_init(env, nothing, err) != 0 ||
        find_running(run, target, err) != 0 ||
        (*preload && environment_set(env, "LD_PRELOAD", preload, err) != 0) ||
        run_find_allocators(run, err) != 0 ||
        run_prepare_agent(run, env, err) != 0)
        return -1;
    allocators_warn(&run->allocators);
    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->list[i], AGENT_ENV_PREFIX, strlen(AGENT_ENV_PREFIX)) ==
            0)
            buffer_format(out, "%s\n", env->list[i]);
    }
    if (out->failed)
        error_set(err, ER_WRONG_VALUE, "the agent's settings are too long");
    return out->failed ? -1 : 0;
}

static int
refuse(const struct error *err)
{
    run_say(err->text, "; nothing was attached");
    return err->code == ER_UNKNOWN ? EX_TEMPFAIL : EX_CONFIG;
}

static int
plan_attached(struct run *run, struct attach *attach, struct buffer *settings,
              struct error *err)
{
    attach->plan = &run->plan;
    attach->library = run->library;
    if (plan_settings(run, &attach->target, settings, err) != 0 ||
        run_plan_heartbeat(run, err) != 0 ||
        environment_set(&run->heapwired, SUPERVISED_ATTACHED, "1", err) != 0)
        return -1;
    attach->settings = settings->data;
    run_plan_heapwired(run);
    return 0;
}

int
run_attached(struct run *run, char **envp)
{
    const struct options *options = &run->options;
    struct attach attach = {.pidfd = -1};
    enum check_result checked;
    struct buffer settings;
    struct error err = {0};
    int rc;

    buffer_init(&settings, AGENT_SETTINGS_MAX);
    if (environment_init(&run->heapwired, envp, &err) != 0 ||
        run_find_parts(run, &err) != 0 ||
        target_check(&attach.target, (pid_t)options->attach, options->force,
                     &err) != 0)
        return refuse(&err);
    environment_clean(&run->heapwired);
    follow_user(run, &attach.target);
    checked = options_check(&run->options, run->heapwired_path,
                            run->heapwired.list, &err);
    if (checked == CHECK_REFUSED)
        error_set(&err, ER_WRONG_VALUE, "the configuration is wrong");
    rc = checked == CHECK_GOOD ? plan_attached(run, &attach, &settings, &err)
                               : -1;
    if (rc == 0 && options->dry_run)
        rc = attach_try(&attach, &err);
    else if (rc == 0 && (rc = state_dir_make(run->plan.state_dir, &err)) == 0)
        rc = attach_start(&attach, &err);
    if (rc != 0) {
        rc = refuse(&err);
    } else if (!options->dry_run) {
        run_say_places(run);
        rc = attach_stay(&attach);
    }
    buffer_fini(&settings);
    return rc;
}
