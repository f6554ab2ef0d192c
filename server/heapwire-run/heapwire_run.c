/*
 * heapwire_run.c - heapwire-run: a database with heapwire in it and beside it.
 *
 * A wrong command line or configuration is refused before anything starts.
 * Whatever else fails costs one line on stderr, and the database runs without
 * heapwire: a tool that watches must not be the reason that a database is down.
 * That is also so where another heapwire-run has the state directory, which is
 * then left alone.  What is decided is written into struct plan, and
 * supervise() or attach_stay() carry it out.  One thread throughout.
 */
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "agent_protocol.h"
#include "allocators.h"
#include "attach.h"
#include "buffer.h"
#include "environment.h"
#include "errors.h"
#include "files.h"
#include "memory.h"
#include "options.h"
#include "run.h"
#include "state_dir.h"
#include "supervise.h"
#include "supervised_env.h"
#include "wrapper.h"

/* Prints where heapwire can be reached: the only line of a start without
 * faults. */
static void
print_endpoints(const struct run *run)
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

/* ---- --attach: heapwire in and beside a database that runs already ---- */

enum { ENVIRONMENT_MAX = 2 << 20 };

/* heapwired runs as the database's user, who owns the state directory. */
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
        run_print_line(
            "the database's user has no name here",
            ": name with --user one that may use its state directory");
}

/* Reads the target's LD_PRELOAD; "": it has none, or cannot be read. */
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

/* Finds the executable that it runs, even if another file has its name now. */
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

/* Writes the agent's settings, which its environment would have had. */
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
report_attach_refusal(const struct error *err)
{
    run_print_line(err->text, "; nothing was attached");
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

/* Returns the exit status; a fault costs one line, and nothing is attached. */
static int
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
        return report_attach_refusal(&err);
    environment_clean(&run->heapwired);
    follow_user(run, &attach.target);
    /* The same --check as for a start: one parser of the configuration. */
    checked = options_check(&run->options, run->heapwired_path,
                            run->heapwired.list, &err);
    if (checked == CHECK_REFUSED)
        error_set(&err, ER_WRONG_VALUE, "the configuration is wrong");
    if (strcmp(options->value[SETTING_PROFILING_SOURCE], "interposed") == 0 ||
        strcmp(options->value[SETTING_PROFILING_SOURCE], "patched") == 0)
        run_print_line("the setting profiling_source is ignored",
                       ": nothing can be preloaded into a program that runs");
    rc = checked == CHECK_GOOD ? plan_attached(run, &attach, &settings, &err)
                               : -1;
    if (rc == 0 && options->dry_run)
        rc = attach_try(&attach, &err);
    /* A dry run writes nothing, so it takes no lock. */
    else if (rc == 0 && (rc = state_dir_lock(run->plan.state_dir,
                                             &run->plan.state_lock, &err)) == 0)
        rc = attach_start(&attach, &err);
    if (rc != 0) {
        rc = report_attach_refusal(&err);
    } else if (!options->dry_run) {
        print_endpoints(run);
        rc = attach_stay(&attach);
    }
    buffer_fini(&settings);
    return rc;
}

/* Can any user read the file at this absolute path?  A database that changes
 * its user must be able to. */
static bool
others_can_read(const char *path)
{
    char part[PATH_MAX], *end;
    mode_t need = S_IROTH;
    struct stat st;

    snprintf(part, sizeof(part), "%s", path);
    do {
        if (stat(part, &st) != 0 || !(st.st_mode & need))
            return false;
        need = S_IXOTH; /* of the directories on the way */
        end = strrchr(part, '/');
        *end = '\0';
    } while (end > part);
    return true;
}

/* Finds what a wrapper (setpriv, gosu, env, ...) executes, or NULL; owned. */
static char *
find_wrapped(const struct run *run)
{
    struct wrapped wrapped;
    struct error ignored;
    char *found = NULL;
    int status;

    wrapper_read(&wrapped, run->options.command);
    if (*wrapped.root)
        run_print_line(
            wrapped.root,
            " becomes the root directory, below which the agent cannot be "
            "loaded: start heapwire-run inside it");
    if (wrapped.other_user && geteuid() == 0 && *run->library &&
        !others_can_read(run->library))
        run_print_line(
            run->library,
            " cannot be read by other users: a database of one has no "
            "agent");
    if (*wrapped.name)
        found = program_find(wrapped.name, &status, &ignored);
    /* A script behind the wrapper says nothing about the program. */
    if (found && program_is_script(found)) {
        mem_free(found);
        found = NULL;
    }
    return found;
}

/* Finds the database's executable.  A script needs --exe. */
static int
find_database_program(struct run *run, int *exit_status, struct error *err)
{
    const char *exe = run->options.value[SETTING_EXE];
    char *wrapped = exe && *exe ? NULL : find_wrapped(run);
    const char *named = wrapped ? wrapped : exe && *exe ? exe : NULL;
    char resolved[PATH_MAX];

    run->program = program_find(run->options.command[0], exit_status, err);
    if (!run->program)
        goto out;
    *exit_status = EX_CONFIG;
    if (!named && program_is_script(run->program)) {
        error_set(err, ER_WRONG_VALUE,
                  "%s is a script: name the database's executable with --exe",
                  run->program);
    } else if (!realpath(named ? named : run->program, resolved)) {
        error_sys(err, ER_WRONG_VALUE, "cannot find the executable %s",
                  named ? named : run->program);
    } else {
        run->exe = mem_strdup(resolved);
        run->name = mem_strdup(named ? named : run->program);
        if (!run->exe || !run->name)
            error_memory(err, resolved);
    }
out:
    mem_free(wrapped);
    return run->exe && run->name ? 0 : -1;
}

/* Gives the database a NOTIFY_SOCKET of ours, whose messages are passed on. */
static int
plan_notify(struct run *run, struct error *err)
{
    const char *manager = environment_get(&run->database, NOTIFY_ENV);

    run->plan.notify = &run->notify;
    if (!manager || notify_relay_open(&run->notify, manager) != 0)
        return 0;
    return environment_set(&run->bare, NOTIFY_ENV, run->notify.address, err) !=
                       0 ||
                   environment_set(&run->database, NOTIFY_ENV,
                                   run->notify.address, err) != 0 ||
                   environment_set(&run->plain, NOTIFY_ENV, run->notify.address,
                                   err) != 0
               ? -1
               : 0;
}

/* Returns 0, or the exit status if nothing was started. */
static int
prepare_database_run(struct run *run, char **envp)
{
    static const char without[] = "; the database runs without heapwire";
    static const char refused[] = "; nothing was started";
    enum check_result checked = CHECK_BROKEN;
    struct error err = {0};
    int exit_status = EX_CONFIG;

    if (environment_init(&run->database, envp, &err) != 0 ||
        environment_init(&run->plain, envp, &err) != 0 ||
        environment_init(&run->bare, envp, &err) != 0 ||
        environment_init(&run->heapwired, envp, &err) != 0) {
        run_print_line(err.text, "");
        return EX_OSERR;
    }
    environment_clean(&run->heapwired);
    environment_unset(&run->heapwired, NOTIFY_ENV);
    if (plan_notify(run, &err) != 0)
        run_print_line(err.text, "");
    if (run_find_parts(run, &err) == 0)
        checked = options_check(&run->options, run->heapwired_path,
                                run->heapwired.list, &err);
    if (checked == CHECK_REFUSED) {
        run_print_line("the configuration is wrong", refused);
        return EX_CONFIG;
    }
    if (checked == CHECK_BROKEN)
        run_print_line(err.text, without);
    if (find_database_program(run, &exit_status, &err) != 0) {
        run_print_line(err.text, refused);
        return exit_status;
    }
    /* --explain writes nothing into the state directory, and takes no lock. */
    if (run->options.explain)
        return checked == CHECK_GOOD ? 0 : EX_OSERR;
    run->plan.program = run->program;
    run->plan.argv = run->options.command;
    run->plan.exe = run->exe;
    run->plan.name = run->name;
    if (checked == CHECK_GOOD) {
        if (state_dir_lock(run->options.value[SETTING_STATE_DIR],
                           &run->plan.state_lock, &err) == 0 &&
            run_prepare_environments(run, &err) == 0 &&
            run_plan_heartbeat(run, &err) == 0) {
            run_plan_heapwired(run);
            print_endpoints(run);
        } else {
            run_print_line(err.text, without);
        }
    }
    /* Even if all else failed: then it is the environment that we got. */
    run->plan.envp = run->database.list;
    return 0;
}

int
main(int argc, char **argv, char **envp)
{
    struct run run = {.start.fd = -1,
                      .notify.fd = -1,
                      .plan.segment = -1,
                      .plan.state_lock = -1};
    enum options_result parsed = options_parse(&run.options, argc, argv);
    int status;

    if (parsed != OPTIONS_RUN)
        return parsed == OPTIONS_DONE ? EX_OK : EX_USAGE;
    status = run.options.attach ? run_attached(&run, envp)
                                : prepare_database_run(&run, envp);
    if (status == 0 && !run.options.attach)
        status = run.options.explain ? run_explain(&run) : supervise(&run.plan);
    allocators_fini(&run.allocators);
    mem_free(run.user);
    mem_free(run.program);
    mem_free(run.exe);
    mem_free(run.name);
    environment_fini(&run.database);
    environment_fini(&run.plain);
    environment_fini(&run.bare);
    start_watch_close(&run.start);
    notify_relay_close(&run.notify);
    fd_close(run.plan.state_lock);
    environment_fini(&run.heapwired);
    options_fini(&run.options);
    return status;
}
