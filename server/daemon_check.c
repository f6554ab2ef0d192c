/*
 * daemon_check.c - see daemon.h.
 *
 * --check loads the configuration as the keeper does and examines the user and
 * the files that a start needs; it writes nothing.  Some functions here serve a
 * start as well.
 */
#include "daemon.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "supervised.h"
#include "certificate.h"
#include "config.h"
#include "debug_fetcher.h"
#include "elf_file.h"
#include "errors.h"
#include "log.h"
#include "state_dir.h"

void
daemon_print_faults(const struct config_faults *faults)
{
    const char *p = faults->text.data, *end;

    for (; p && (end = strchr(p, '\n')); p = end + 1)
        fprintf(stderr, "heapwired: %.*s\n", (int)(end - p), p);
}

int
daemon_find_program(const char *program, char out[PATH_MAX], struct error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;
    int length = -1;

    if (slash)
        length = snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - self), self,
                          program);
    if (length > 0 && length < PATH_MAX)
        return 0;
    error_set(err, ER_UNKNOWN, "cannot find heapwired's own directory");
    return -1;
}

static void
log_debug(const char *line)
{
    log_line("%s", line);
}

int
daemon_start_debug(const struct config *config, struct debug_fetcher **out,
                   struct error *err)
{
    /* Static: the fetcher borrows it for as long as the process runs. */
    static char dir[CONFIG_STATE_MAX + sizeof("/debuginfo")];
    const char *urls = config->debuginfod_urls;
    char program[PATH_MAX];
    struct error why;
    struct debug_fetcher_options options = {dir,
                                            program,
                                            urls,
                                            config->symbols_bytes,
                                            config->debuginfod_timeout_s,
                                            log_debug};

    *out = NULL;
    if (!*urls)
        options.urls = urls = getenv("DEBUGINFOD_URLS"); /* NOLINT */
    if (!urls || !urls[strspn(urls, " ")] || strcmp(urls, "none") == 0)
        return 0;
    if (strlen(urls) > CONFIG_URLS_MAX) {
        error_set(err, ER_WRONG_VALUE,
                  "DEBUGINFOD_URLS has %zu bytes, and may have %d: shorten it, "
                  "or set debuginfod_urls in [symbols]",
                  strlen(urls), CONFIG_URLS_MAX);
        return -1;
    }
    if (daemon_find_program("heapwire-debuginfod", program, err) != 0)
        return -1;
    /* A fetcher that cannot start is no reason not to serve: profiles then lack
     * a few names. */
    snprintf(dir, sizeof(dir), "%s/debuginfo", config->state_dir);
    *out = debug_fetcher_start(&options, &why);
    if (*out) {
        debug_fetched_set(dir);
        log_line("debug information is fetched from %s", urls);
    } else {
        log_fault("no debug information is fetched: %s", why.text);
    }
    return 0;
}

void
daemon_print_state_note(const struct config *config)
{
    if (*config->state_note)
        fprintf(stderr, "heapwired: %s\n", config->state_note);
}

int
daemon_check_user(const struct config *config, struct account *account,
                  struct error *err)
{
    if (!*config->user)
        return 0;
    if (account_find(config->user, account, err) != 0)
        return -1;
    if (geteuid() != 0 && account->uid != geteuid()) {
        error_set(err, ER_WRONG_VALUE,
                  "only root can run heapwired as the user '%s'", config->user);
        return -1;
    }
    return 0;
}

static int
check_file(const char *what, const char *path, int access_mode,
           struct error *err)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        access(path, access_mode) == 0)
        return 0;
    error_set(err, ER_WRONG_VALUE, "%s = %s: there is no file that can be %s",
              what, path, access_mode == X_OK ? "run" : "read");
    return -1;
}

int
daemon_print_error(const struct error *err)
{
    fprintf(stderr, "heapwired: %s\n", err->text);
    return -1;
}

static int
check_etcd_files(const struct config_etcd *etcd)
{
    const char *const files[][2] = {{"etcd_cacert", etcd->cacert},
                                    {"etcd_cert", etcd->cert},
                                    {"etcd_key", etcd->key}};
    struct error err;
    int rc = 0;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (*files[i][1] &&
            check_file(files[i][0], files[i][1], R_OK, &err) != 0)
            rc = daemon_print_error(&err);
    return rc;
}

/* Checks the files that a start needs. */
static int
check_surroundings(const struct config *c)
{
    struct certificate certificate = {0};
    struct certificate_note note; /* a start logs it */
    struct account account;
    struct error err;
    int rc = 0;

    if (daemon_check_user(c, &account, &err) != 0)
        rc = daemon_print_error(&err);
    if (*c->exe && check_file("exe", c->exe, X_OK, &err) != 0)
        rc = daemon_print_error(&err);
    if (strchr(c->jemalloc, '/') &&
        check_file("jemalloc", c->jemalloc, R_OK, &err) != 0)
        rc = daemon_print_error(&err);
    if (check_etcd_files(&c->cluster.etcd) != 0)
        rc = -1;
    if (*c->tls_cert && *c->tls_key &&
        certificate_read(&certificate, c->tls_cert, c->tls_key, &note, &err) !=
            0)
        rc = daemon_print_error(&err);
    certificate_fini(&certificate);
    if (*c->state_dir && state_dir_check(c->state_dir, &err) != 0)
        rc = daemon_print_error(&err);
    return rc;
}

int
daemon_check(const struct arguments *arguments)
{
    struct config config;
    struct config_faults faults;
    int rc;

    config_faults_init(&faults);
    rc = config_load(&config, &arguments->config, &faults);
    daemon_print_faults(&faults);
    daemon_print_state_note(&config);
    /* Faults do not end the check: an administrator wants all of them at once.
     */
    if (check_surroundings(&config) != 0)
        rc = -1;
    if (rc == 0)
        setting_print(&config, stdout);
    config_fini(&config);
    config_faults_fini(&faults);
    return rc == 0 ? 0 : EX_CONFIG;
}
