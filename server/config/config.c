/*
 * config.c - see config.h.
 *
 * inih parses the file, but it tells a callback neither the line's number nor
 * that a section is empty, and cuts long lines without an error.  So it reads
 * through next_config_line(), which counts, checks and cuts lines itself and
 * passes on only those that inih cannot misread.  Nothing stops at the first
 * fault: all are collected, since an administrator wants to mend a file once.
 * Runs in the keeper, in heapwired --check and in heapwire-passwd.
 */
#include "config.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "reader.h"
#include "sql.h"
#include "auth.h"

enum { LINE_MAX_BYTES = 190 }; /* inih cuts lines at 200 without an error */

/* ---- the file ---- */

enum section {
    SECTION_OUTSIDE,
    SECTION_KEYS,
    SECTION_USER,
    SECTION_PEER,
    SECTION_WRONG
};

/* Sections that hold settings.  Keys of [node] are named as they are, others
 * with "SECTION." before them. */
static const char *const sections[] = {"node",     "snapshots", "budgets",
                                       "profiler", "symbols",   "cluster"};
enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

struct parse {
    struct config *config;
    struct config_faults *faults;
    const char *name; /* the file's */
    struct reader text;
    unsigned line;
    enum section section;
    size_t keys; /* in SECTION_KEYS: index of sections[] */
    bool sections_seen[SECTIONS], keys_seen[CONFIG_KEYS];
    struct user user; /* of the section under way */
    unsigned user_line;
    bool auth_seen, privileges_seen, connections_seen;
    struct config_peer peer; /* of the section being read */
};

/* Records a fault of the file: fault(p, line, format, ...). */
#define fault(p, ...) config_fault((p)->faults, (p)->name, __VA_ARGS__)

static void
end_user(struct parse *p)
{
    struct error err;

    if (p->section != SECTION_USER)
        return;
    if (!p->auth_seen)
        fault(p, p->user_line,
              "[user %s] has no line 'auth = ...' (heapwire-passwd makes it)",
              p->user.name);
    if (!p->privileges_seen)
        fault(p, p->user_line, "[user %s] has no line 'privileges = ...'",
              p->user.name);
    if (p->auth_seen && p->privileges_seen &&
        users_add(p->config->users, &p->user, &err) != 0)
        fault(p, p->user_line, "%s", err.text);
}

static void
begin_user(struct parse *p, const char *name)
{
    struct error err;

    memset(&p->user, 0, sizeof(p->user));
    p->auth_seen = p->privileges_seen = p->connections_seen = false;
    p->user_line = p->line;
    if (users_check_name(name, &err) != 0) {
        fault(p, p->line, "[user %s]: %s", name, err.text);
        p->section = SECTION_WRONG;
        return;
    }
    memcpy(p->user.name, name, strlen(name) + 1);
    p->section = SECTION_USER;
}

static void
begin_peer(struct parse *p, const char *name)
{
    struct error err;

    p->section = SECTION_PEER;
    if (config_peer_begin(&p->peer, name, p->line, &err) == 0)
        return;
    fault(p, p->line, "%s", err.text);
    p->section = SECTION_WRONG;
}

static void
end_peer(struct parse *p)
{
    struct error err;

    if (p->section == SECTION_PEER &&
        config_peer_end(&p->config->cluster, &p->peer, &err) != 0)
        fault(p, p->peer.line, "%s", err.text);
}

static void
begin_section(struct parse *p, const char *name)
{
    /* A section ends where the next begins, and only then can lines be missing.
     */
    end_user(p);
    end_peer(p);
    p->keys = 0;
    while (p->keys < SECTIONS && strcmp(name, sections[p->keys]) != 0)
        p->keys++;
    if (p->keys < SECTIONS) {
        if (p->sections_seen[p->keys])
            fault(p, p->line, "[%s] is given twice", name);
        p->sections_seen[p->keys] = true;
        p->section = SECTION_KEYS;
    } else if (strncmp(name, "user ", 5) == 0) {
        begin_user(p, name + 5 + strspn(name + 5, " \t"));
    } else if (strncmp(name, "peer ", 5) == 0) {
        begin_peer(p, name + 5 + strspn(name + 5, " \t"));
    } else {
        fault(p, p->line,
              "unknown section [%s] (allowed: [node], [snapshots], "
              "[budgets], [profiler], [symbols], [cluster], [user NAME] and "
              "[peer ID])",
              name);
        p->section = SECTION_WRONG;
    }
}

/* The setting's key within that section; NULL: it belongs to another one. */
static const char *
key_in(size_t section, enum config_key key)
{
    const char *name = setting_key(key), *dot = strchr(name, '.');
    size_t size = dot ? (size_t)(dot - name) : 0;

    if (section == 0)
        return dot ? NULL : name;
    return dot && strncmp(name, sections[section], size) == 0 &&
                   sections[section][size] == '\0'
               ? dot + 1
               : NULL;
}

static void
unknown_key(struct parse *p, const char *key)
{
    char allowed[512] = "";

    for (enum config_key i = 0; i < CONFIG_KEYS; i++) {
        const char *name = key_in(p->keys, i);
        size_t size = strlen(allowed);

        if (name)
            snprintf(allowed + size, sizeof(allowed) - size, "%s%s",
                     size ? ", " : "", name);
    }
    fault(p, p->line, "unknown key '%s' in [%s] (allowed: %s)", key,
          sections[p->keys], allowed);
}

static void
setting_line(struct parse *p, const char *key, const char *value)
{
    struct error err;

    for (enum config_key i = 0; i < CONFIG_KEYS; i++) {
        const char *name = key_in(p->keys, i);

        if (!name || strcmp(key, name) != 0)
            continue;
        if (p->keys_seen[i])
            fault(p, p->line, "'%s' is given twice", key);
        else if (setting_apply(p->config, i, value, &err) != 0)
            /* Secrets are never repeated, not even wrong ones: faults are
             * logged. */
            fault(p, p->line, "%s = %s: %s", key,
                  setting_is_secret(i) ? "(not shown)" : value, err.text);
        p->keys_seen[i] = true;
        return;
    }
    unknown_key(p, key);
}

static void
user_key(struct parse *p, const char *key, const char *value)
{
    bool auth = strcmp(key, "auth") == 0;
    bool privileges = strcmp(key, "privileges") == 0;
    bool *seen = auth         ? &p->auth_seen
                 : privileges ? &p->privileges_seen
                              : &p->connections_seen;
    struct error err;
    int rc;

    if (!auth && !privileges && strcmp(key, "max_connections") != 0) {
        fault(p, p->line,
              "unknown key '%s' in [user %s] (allowed: auth, privileges, "
              "max_connections)",
              key, p->user.name);
        return;
    }
    if (*seen) {
        fault(p, p->line, "'%s' is given twice", key);
        return;
    }
    *seen = true;
    if (auth)
        rc = verifier_parse(&p->user.verifier, value, &err);
    else if (privileges)
        rc = privileges_parse(value, &p->user.privileges, &err);
    else
        rc = setting_connections(value, &p->user.max_connections, &err);
    if (rc != 0) /* a verifier is a secret: the value is not repeated */
        fault(p, p->line, "%s of user '%s': %s", key, p->user.name, err.text);
}

/* Called by inih for each key; returns non-zero for success, as inih has it.
 * Faults are counted by fault(), so inih never sees one. */
static int
on_key(void *arg, const char *section, const char *key, const char *value)
{
    struct parse *p = arg;
    struct error err;

    (void)section; /* begin_section() had it uncut */
    switch (p->section) {
    case SECTION_KEYS:
        setting_line(p, key, value);
        break;
    case SECTION_USER:
        user_key(p, key, value);
        break;
    case SECTION_PEER:
        if (config_peer_key(&p->peer, key, value, &err) != 0)
            fault(p, p->line, "%s", err.text);
        break;
    case SECTION_OUTSIDE:
        fault(p, p->line, "'%s' stands before the first section", key);
        break;
    case SECTION_WRONG:
        break; /* reported once, at the section's head */
    }
    return 1;
}

/* Reports lines that inih could not read as a section, a key or a comment. */
static bool
check_config_line(struct parse *p, struct span line)
{
    if (line.size > LINE_MAX_BYTES) {
        fault(p, p->line, "the line is longer than %d bytes", LINE_MAX_BYTES);
        return false;
    }
    if (memchr(line.data, 0, line.size)) {
        fault(p, p->line, "the line has a NUL byte");
        return false;
    }
    if (line.size == 0 || strchr(";#", line.data[0]))
        return true;
    if (line.data[0] == '[') {
        if (memchr(line.data, ']', line.size))
            return true;
        fault(p, p->line, "the section's name has no ']'");
        return false;
    }
    if (memchr(line.data, '=', line.size) || memchr(line.data, ':', line.size))
        return true;
    fault(p, p->line, "neither '[section]' nor 'key = value'");
    return false;
}

static void
note_section(struct parse *p, struct span line)
{
    const char *end = memchr(line.data, ']', line.size);
    char name[LINE_MAX_BYTES];
    size_t size = (size_t)(end - line.data) - 1;

    memcpy(name, line.data + 1, size);
    name[size] = '\0';
    begin_section(p, name);
}

/* Called by inih like fgets(): gives it the next valid line.  Leading blanks
 * are removed, since inih takes an indented line for a continuation of the one
 * before. */
static char *
next_config_line(char *out, int size, void *arg)
{
    struct parse *p = arg;
    struct span line;

    while (reader_line(&p->text, &line)) {
        p->line++;
        while (line.size > 0 && strchr(" \t\r", line.data[0])) {
            line.data++;
            line.size--;
        }
        /* A faulty line is left out, and the rest of the file is still checked.
         */
        if (!check_config_line(p, line) || line.size + 2 > (size_t)size)
            continue;
        if (line.size > 0 && line.data[0] == '[')
            note_section(p, line);
        memcpy(out, line.data, line.size);
        memcpy(out + line.size, "\n", 2);
        return out;
    }
    return NULL;
}

int
config_parse(struct config *config, const char *name, const char *text,
             size_t size, struct config_faults *faults)
{
    struct parse p = {.config = config, .faults = faults, .name = name};
    unsigned before = faults->count;
    struct error err;

    if (!config->users)
        config->users = users_new(&err);
    if (!config->users) {
        config_add_fault(faults, name, err.text);
        return -1;
    }
    p.text = reader_of(text, size);
    if (ini_parse_stream(next_config_line, &p, on_key, &p) != 0)
        config_add_fault(faults, name, "not a file of sections and keys");
    end_user(&p);
    end_peer(&p);
    config_peers_check(&config->cluster, name, faults);
    return faults->count == before ? 0 : -1;
}

/* Verifiers have no salt, so a file that holds users must not be readable by
 * others; nor may one with the cluster's secret. */
static void
load_file(struct config *config, const char *path, struct config_faults *faults)
{
    struct buffer text;
    struct error err;
    bool readable;

    buffer_init(&text, CONFIG_FILE_MAX);
    if (config_read_file(path, &text, &readable, &err) != 0) {
        config_add_fault(faults, path, err.text);
    } else {
        config_parse(config, path, text.data, text.size, faults);
        if (readable && users_count(config->users) > 0)
            config_add_fault(
                faults, path,
                "holds users and can be read by others " CONFIG_PRIVATE);
        if (readable &&
            (*config->cluster.secret || *config->cluster.etcd.password))
            config_add_fault(faults, path,
                             "holds a secret of the cluster and can be read by "
                             "others " CONFIG_PRIVATE);
    }
    /* The whole block: text may have been longer before an error. */
    buffer_wipe(&text);
}

int
config_load(struct config *config, const struct config_arguments *args,
            struct config_faults *faults)
{
    struct error err;
    char where[64];

    setting_defaults(config);
    config->users = users_new(&err);
    if (!config->users)
        config_add_fault(faults, "", err.text);
    else if (args->file)
        load_file(config, args->file, faults);
    /* Options come after the file, so they win. */
    for (enum config_key i = 0; i < CONFIG_KEYS; i++) {
        if (!args->values[i] ||
            setting_apply(config, i, args->values[i], &err) == 0)
            continue;
        snprintf(where, sizeof(where), "--%s", setting_option(i));
        config_add_fault(faults, where, err.text);
    }
    /* The rest depends on several settings, so it is checked once all are
     * known. */
    config_cluster_complete(config, args->file ? args->file : "", faults);
    if (!*config->tls_cert != !*config->tls_key)
        config_add_fault(faults, *config->tls_cert ? "tls_cert" : "tls_key",
                         *config->tls_cert ? "tls_key must be given with it"
                                           : "tls_cert must be given with it");
    if (setting_complete(config, &err) != 0)
        config_add_fault(faults, "the default paths", err.text);
    if (config_addresses_clash(&config->listen, &config->http))
        config_add_fault(faults, "http",
                         "has the port of 'listen', which speaks MySQL's "
                         "protocol: give it another port, or none");
    return faults->count ? -1 : 0;
}

void
config_fini(struct config *config)
{
    users_free(config->users);
    config->users = NULL;
    config_cluster_fini(&config->cluster);
}
