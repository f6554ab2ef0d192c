/*
 * wrapper.c - see wrapper.h.
 *
 * Containers and units start databases through setpriv, gosu, sh -c and the
 * like, and what must be examined is the program behind them.  A table says of
 * each wrapper which of its options take a value and how many words stand
 * before the program; a shell's text is understood only if it is one simple
 * command or has one exec.  What is not understood is not guessed:
 * --exe can name the program.
 */
#include "wrapper.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "confined.h"
#include "errors.h"
#include "files.h"
#include "memory.h"

/* ---- seccomp filters ---- */

void
probe_filters(char *out)
{
    int filters = confined_filters();
    unsigned calls = 0;

    out[0] = '\0';
    if (filters <= 0)
        return; /* no filters; or the agent could not recognise them */
    for (unsigned call = 1; call & CONFINED_ALL; call <<= 1)
        if (confined_try_in_child((enum confined_call)call) > 0)
            calls |= call;
    confined_write(filters, calls, out);
}

/* ---- where a program lies ---- */

enum { EXIT_NOT_FOUND = 127, EXIT_NOT_RUNNABLE = 126 }; /* the shell's */

static bool
is_runnable_file(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode)) {
        errno = EACCES;
        return false;
    }
    return access(path, X_OK) == 0;
}

char *
program_find(const char *name, int *exit_status, struct error *err)
{
    const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
    char full[PATH_MAX], *found;
    int reason = ENOENT;

    if (strchr(name, '/'))
        path = "";
    else if (!path)
        /* What execvp() takes where PATH is not set. */
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t size = strcspn(path, ":");

        if (snprintf(full, sizeof(full), "%.*s%s%s", (int)size, path,
                     size > 0 ? "/" : "", name) < (int)sizeof(full) &&
            is_runnable_file(full)) {
            found = mem_strdup(full);
            if (!found)
                error_memory(err, name);
            return found;
        }
        /* EACCES at one place outlasts ENOENT at the others, as in the shell.
         */
        if (errno != ENOENT && errno != ENOTDIR)
            reason = errno;
        if (!path[size])
            break;
        path += size + 1;
    }
    errno = reason;
    error_sys(err, ER_UNKNOWN, "cannot run %s", name);
    *exit_status = reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
    return NULL;
}

bool
program_is_script(const char *path)
{
    int fd = file_open_regular(path);
    char magic[2] = "";
    bool script = fd >= 0 && pread(fd, magic, sizeof(magic), 0) == 2 &&
                  memcmp(magic, "#!", sizeof(magic)) == 0;

    fd_close(fd);
    return script;
}

bool
program_secure(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
        ((st.st_mode & S_ISGID) && st.st_gid != getegid()))
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

enum { SHELL = -1 }; /* for words: -c says that the command is a text */

static const struct wrapper {
    /* letters and options that take a value */
    const char *name, *letters, *options;
    int words;
} wrappers[] = {
    {"ash", "oO", "", SHELL},
    {"bash", "oO", "rcfile init-file", SHELL},
    {"choom", "np", "adjust pid", 0},
    {"chroot", "", "userspec groups", 1},
    {"chrt", "TPD", "sched-runtime sched-period sched-deadline", 1},
    {"dash", "o", "", SHELL},
    {"docker-entrypoint.sh", "", "", 0},
    {"dumb-init", "r", "rewrite", 0},
    {"env", "uC", "unset chdir", 0},
    {"gosu", "", "", 1},
    {"ionice", "cnpPu", "class classdata", 0},
    {"linux32", "", "", 0},
    {"linux64", "", "", 0},
    {"nice", "n", "adjustment", 0},
    {"nohup", "", "", 0},
    {"numactl", "iwpPmNC",
     "interleave weighted-interleave preferred preferred-many membind "
     "cpunodebind physcpubind",
     0},
    {"prlimit", "", "", 0},
    {"runuser", "cugGsw",
     "command user group supp-group shell whitelist-environment", 1},
    {"s6-setuidgid", "", "", 1},
    {"setarch", "", "uname-2.6", 1},
    {"setpriv", "",
     "reuid regid ruid euid rgid egid groups inh-caps ambient-caps "
     "bounding-set securebits pdeathsig selinux-label apparmor-profile "
     "landlock-access landlock-rule seccomp-filter ptracer",
     0},
    {"setsid", "", "", 0},
    {"setuidgid", "", "", 1},
    {"sh", "o", "", SHELL},
    {"stdbuf", "ioe", "input output error", 0},
    {"su", "cgGsw", "command group supp-group shell whitelist-environment", 1},
    {"su-exec", "", "", 1},
    {"taskset", "", "", 1},
    {"timeout", "ks", "kill-after signal", 1},
    {"tini", "pe", "", 0},
    {"unshare", "wRSGl", "propagation setgroups root wd setuid setgid", 0},
};

static const char change_user[] =
    "chroot docker-entrypoint.sh gosu runuser s6-setuidgid setpriv setuidgid "
    "su su-exec";

static const struct wrapper *
find_wrapper(const char *command)
{
    const char *slash = strrchr(command, '/');
    const char *name = slash ? slash + 1 : command;

    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
        if (strcmp(wrappers[i].name, name) == 0)
            return &wrappers[i];
    return NULL;
}

/* Is name, of that size, one of the words? */
static bool
is_word_in_list(const char *words, const char *name, size_t size)
{
    while (*words) {
        size_t length = strcspn(words, " ");

        if (length == size && memcmp(words, name, size) == 0)
            return true;
        words += length;
        words += *words == ' ';
    }
    return false;
}

struct reading {
    const struct wrapper *wrapper;
    char *const *next;
    const char *text; /* the text that a shell runs */
    bool named_user;  /* runuser -u: the program follows, not a user */
};

/* Reads the option at next, and its value. */
static void
read_option(struct reading *r)
{
    const struct wrapper *w = r->wrapper;
    const char *option = *r->next++;
    bool shell = w->words == SHELL;

    if (option[1] == '-') {
        const char *name = option + 2;
        size_t size = strcspn(name, "=");

        r->named_user = r->named_user || is_word_in_list("user", name, size);
        if (is_word_in_list("command", name, size) &&
            is_word_in_list(w->options, "command", 7))
            r->text = name[size] == '=' ? name + size + 1 : *r->next;
        if (name[size] == '\0' && is_word_in_list(w->options, name, size) &&
            *r->next)
            r->next++;
        return;
    }
    /* Letters may stand together; a value may follow the last one directly. */
    for (const char *letter = option + 1; *letter; letter++) {
        bool valued = strchr(w->letters, *letter) != NULL;
        const char *value = letter[1] ? letter + 1 : *r->next;

        if (*letter == 'c' && (shell || valued))
            r->text = shell ? "" : value;
        r->named_user = r->named_user || (*letter == 'u' && valued);
        if (!valued)
            continue;
        if (!letter[1] && *r->next)
            r->next++;
        return;
    }
}

static void
read_wrapper_options(struct reading *r)
{
    while (*r->next && (*r->next)[0] == '-') {
        if (strcmp(*r->next, "--") == 0) {
            r->next++;
            return;
        }
        if ((*r->next)[1] == '\0') /* su - */
            r->next++;
        else
            read_option(r);
    }
}

/* Finds the program in a shell's text; "" if the text is more than that. */
static void
read_shell_program(const char *text, char out[PATH_MAX])
{
    static const char blank[] = " \t\n";
    const char *exec = NULL, *word;
    size_t size;

    for (word = strstr(text, "exec"); word; word = strstr(word + 4, "exec")) {
        if ((word > text && !strchr(" \t\n;&(", word[-1])) || !word[4] ||
            !strchr(blank, word[4]))
            continue;
        if (exec)
            return;
        exec = word + 4;
    }
    /* Without an exec the text must be one command. */
    if (!exec && text[strcspn(text, ";&|\n()`")])
        return;
    word = exec ? exec : text;
    for (;;) {
        word += strspn(word, blank);
        size = strcspn(word, " \t\n;&|<>()");
        if (!memchr(word, '=', size))
            break;
        word += size;
    }
    /* What the shell would still expand is not known here. */
    if (size < PATH_MAX && strcspn(word, "$`\"'*?[{~\\") >= size)
        snprintf(out, PATH_MAX, "%.*s", (int)size, word);
}

/* Steps past one wrapper.  NULL: nothing follows, or a shell's text, which was
 * read. */
static char *const *
unwrap_command(struct wrapped *wrapped, char *const *command)
{
    struct reading r = {find_wrapper(*command), command + 1, NULL, false};
    int words = r.wrapper->words;

    if (is_word_in_list(change_user, r.wrapper->name, strlen(r.wrapper->name)))
        wrapped->other_user = true;
    read_wrapper_options(&r);
    if (words == SHELL) {
        if (r.text && *r.next)
            read_shell_program(*r.next, wrapped->name);
        return NULL;
    }
    if (strcmp(r.wrapper->name, "env") == 0)
        while (*r.next && strchr(*r.next, '='))
            r.next++;
    if (strcmp(r.wrapper->name, "chroot") == 0 && *r.next &&
        strcmp(*r.next, "/") != 0)
        snprintf(wrapped->root, sizeof(wrapped->root), "%s", *r.next);
    for (words -= r.named_user; words > 0 && *r.next; words--)
        r.next++;
    read_wrapper_options(&r); /* su NAME -c TEXT, setarch x86_64 -R */
    if (r.text)
        read_shell_program(r.text, wrapped->name);
    return r.text || !*r.next ? NULL : r.next;
}

void
wrapper_read(struct wrapped *wrapped, char *const *command)
{
    int depth = 0;

    memset(wrapped, 0, sizeof(*wrapped));
    for (; command && find_wrapper(*command); depth++)
        command =
            depth < WRAPPERS_MAX ? unwrap_command(wrapped, command) : NULL;
    if (depth == 0 || !command)
        return;
    if (snprintf(wrapped->name, sizeof(wrapped->name), "%s%s",
                 **command == '/' ? wrapped->root : "",
                 *command) >= (int)sizeof(wrapped->name) ||
        (*wrapped->root && **command != '/'))
        wrapped->name[0] = '\0';
}
