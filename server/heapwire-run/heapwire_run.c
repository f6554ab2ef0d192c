/*
 * heapwire_run.c - heapwire-run: a database with heapwire in it and beside it.
 *
 * A wrong command line or configuration is refused before anything starts.
 * Whatever else fails costs one line, and the database runs without us.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "allocators.h"
#include "environment.h"
#include "errors.h"
#include "memory.h"
#include "notify_relay.h"
#include "options.h"
#include "run.h"
#include "start_watch.h"
#include "state_dir.h"
#include "supervise.h"
#include "wrapper.h"

/* Of an absolute path; as another user's database has to. */
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
        need = S_IXOTH; /* of the directories */
        end = strrchr(part, '/');
        *end = '\0';
    } while (end > part);
    return true;
}

/* What a wrapper (setpriv, gosu, env, ...) executes, or NULL; owned. */
static char *
find_wrapped(const struct run *run)
{
    struct wrapped wrapped;
    struct error ignored;
    char *found = NULL;
    int status;

    wrapper_read(&wrapped, run->options.command);
    if (*wrapped.root)
        run_say(wrapped.root,
                " becomes the root directory, below which the agent cannot be "
                "loaded: start heapwire-run inside it");
    if (wrapped.other_user && geteuid() == 0 && *run->library &&
        !others_can_read(run->library))
        run_say(run->library,
                " cannot be read by other users: a database of one has no "
                "agent");
    if (*wrapped.name)
        found = program_find(wrapped.name, &status, &ignored);
    if (found && program_is_script(found)) {
        mem_free(found);
        found = NULL;
    }
    return found;
}

/* Finds the database's executable.  Refuses a script without --exe. */
static int
find_database(struct run *run, int *exit_status, struct error *err)
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
        if (!run->exe)
            error_memory(err, resolved);
    }
out:
    mem_free(wrapped);
    return run->exe ? 0 : -1;
}

/* Relays the database's messages to systemd. */
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

/* 0; or the exit status, before anything was started. */
static int
prepare(struct run *run, char **envp)
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
        run_say(err.text, "");
        return EX_OSERR;
    }
    environment_clean(&run->heapwired);
    environment_unset(&run->heapwired, NOTIFY_ENV);
    if (plan_notify(run, &err) != 0)
        run_say(err.text, "");
    if (run_find_parts(run, &err) == 0)
        checked = options_check(&run->options, run->heapwired_path,
                                run->heapwired.list, &err);
    if (checked == CHECK_REFUSED) {
        run_say("the configuration is wrong", refused);
        return EX_CONFIG;
    }
    if (checked == CHECK_BROKEN)
        run_say(err.text, without);
    if (find_database(run, &exit_status, &err) != 0) {
        run_say(err.text, refused);
        return exit_status;
    }
    if (run->options.explain)
        return checked == CHECK_GOOD ? 0 : EX_OSERR;
    run->plan.program = run->program;
    run->plan.argv = run->options.command;
    run->plan.exe = run->exe;
    if (checked == CHECK_GOOD) {
        if (state_dir_make(run->options.value[SETTING_STATE_DIR], &err) == 0 &&
            run_prepare_environments(run, &err) == 0 &&
            run_plan_heartbeat(run, &err) == 0) {
            run_plan_heapwired(run);
            run_say_places(run);
        } else {
            run_say(err.text, without);
        }
    }
    run->plan.envp = run->database.list;
    return 0;
}

int
main(int argc, char **argv, char **envp)
{
    struct run run = {.start.fd = -1, .notify.fd = -1};
    enum options_result parsed = options_parse(&run.options, argc, argv);
    int status;

    if (parsed != OPTIONS_RUN)
        return parsed == OPTIONS_DONE ? EX_OK : EX_USAGE;
    status =
        run.options.attach ? run_attached(&run, envp) : prepare(&run, envp);
    if (status == 0 && !run.options.attach)
        status = run.options.explain ? run_explain(&run) : supervise(&run.plan);
    allocators_fini(&run.allocators);
    mem_free(run.user);
    mem_free(run.program);
    mem_free(run.exe);
    environment_fini(&run.database);
    environment_fini(&run.plain);
    environment_fini(&run.bare);
    start_watch_close(&run.start);
    notify_relay_close(&run.notify);
    environment_fini(&run.heapwired);
    options_fini(&run.options);
    return status;
}
