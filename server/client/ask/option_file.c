/*
 * option_file.c - see option_file.h.
 *
 * The library's own reader ignores keys that it does not know and follows
 * !include, so a typing error in --defaults-file would go unnoticed.  This file
 * checks the lines, writes those that may be used to a memfd, and lets the
 * library read that copy.  ~/.my.cnf belongs to other programs too, so nothing
 * in it is an error; one that --defaults-file names is checked line by line.
 */
#include "option_file.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    OPTION_LINE_BYTES = 4096, /* as in the library */
    OPTION_KEY_BYTES = 64,
    LINES_MAX = 10000
};

/* Keys that the library reads. */
static const char known[] =
    " host port socket user password protocol database connect-timeout "
    "default-character-set character-sets-dir bind-address compress debug "
    "plugin-dir default-auth report-data-truncation secure-auth "
    "restricted-auth server-public-key ssl-ca ssl-capath ssl-cert ssl-cipher "
    "ssl-crl ssl-crlpath ssl-enforce ssl-fp ssl-fplist ssl-key "
    "ssl-passphrase ssl-verify-server-cert tls-version ";

/* Keys that are meant for other clients: they are no error, but a node never
 * gets them. */
static const char left_out[] =
    " init-command local-infile loose-local-infile max-allowed-packet ";

static const char blanks[] = " \t\r\n\v\f", no_such_key[] = "there is no key ",
                  byte_order_mark[] = "\xef\xbb\xbf"; /* Windows writes it */

static int options = -1;

static bool
is_listed_option(const char *list, const char *key)
{
    char word[OPTION_KEY_BYTES + 2];

    snprintf(word, sizeof(word), " %s ", key);
    return strstr(list, word) != NULL;
}

/* Writes the key of a line with '-' for '_', as the library does; "" if there
 * is none. */
static void
read_key(const char *line, char key[OPTION_KEY_BYTES])
{
    size_t size = strcspn(line, "= \t\r\n\v\f");

    if (size >= OPTION_KEY_BYTES)
        size = 0;
    for (size_t i = 0; i < size; i++)
        key[i] = (char)(line[i] == '_' ? '-' : line[i]);
    key[size] = '\0';
}

static bool
is_our_group(const char *line)
{
    return strncmp(line, "[client]", 8) == 0 ||
           strncmp(line, "[client-server]", 15) == 0 ||
           strncmp(line, "[client-mariadb]", 16) == 0 ||
           strncmp(line, "[heapwire]", 10) == 0;
}

/* A number may stand in quotes. */
static bool
is_port(const char *text)
{
    const char *begin = text + strspn(text, blanks);
    char quote = *begin, *end;
    long port;

    if (quote == '"' || quote == '\'')
        begin++;
    else
        quote = '\0';
    port = strtol(begin, &end, 10);
    if (end == begin || (quote && *end++ != quote))
        return false;
    return !end[strspn(end, blanks)] && port > 0 && port <= 65535;
}

/* Answers what is wrong with a line, or NULL. Keeps track of the group that
 * lines stand in. */
static const char *
find_fault(const char *line, const char *key, bool *has_group,
           bool *in_own_group)
{
    const char *end;

    if (*line == '[') {
        end = strchr(line, ']');
        if (!end || end == line + 1)
            return "a group is [NAME]";
        end += 1 + strspn(end + 1, blanks);
        if (*end && *end != '#')
            return "a group is [NAME]";
        *has_group = true;
        *in_own_group = is_our_group(line);
        return NULL;
    }
    if (*line == '!')
        return "no other file is included";
    if (!*has_group)
        return "it stands before the first [GROUP]";
    if (!*in_own_group)
        return NULL;
    end = line + strlen(key);
    end += strspn(end, blanks);
    if (!*key || (*end && *end != '='))
        return "a line is KEY = VALUE";
    if (strcmp(key, "port") == 0 && (!*end || !is_port(end + 1)))
        return "a port is a number up to 65535";
    return is_listed_option(known, key) || is_listed_option(left_out, key)
               ? NULL
               : no_such_key;
}

/* Cuts a comment off as MySQL and MariaDB do: at a # outside quotes, wherever
 * it stands.  The library would take it as part of the value. */
static void
cut_comment(char *line)
{
    bool escaped = false;
    char quote = '\0';

    for (; *line && (*line != '#' || quote); line++) {
        if (!quote && (*line == '"' || *line == '\''))
            quote = *line;
        else if (quote == *line && !escaped)
            quote = '\0';
        escaped = quote && *line == '\\' && !escaped;
    }
    if (*line)
        memcpy(line, "\n", sizeof("\n"));
}

static enum client_status
copy_lines(FILE *file, const char *path)
{
    bool has_group = false, in_own_group = false;
    char line[OPTION_LINE_BYTES], key[OPTION_KEY_BYTES], *at;
    const char *fault;
    bool whole;

    for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
        whole = strlen(line) < sizeof(line) - 1;
        at = line;
        if (number == 1 && strncmp(at, byte_order_mark, 3) == 0)
            at += 3;
        at += strspn(at, blanks);
        if (path && number > LINES_MAX) {
            warnx("%s: more than %d lines", path, LINES_MAX);
            return CLIENT_USAGE;
        }
        if (!*at || *at == '#' || *at == ';')
            continue;
        if (*at != '[')
            cut_comment(at);
        read_key(at, key);
        fault = whole ? find_fault(at, key, &has_group, &in_own_group)
                      : "a line has at most 4094 bytes";
        if (path && fault) {
            warnx("%s:%u: %s%s", path, number, fault,
                  fault == no_such_key ? key : "");
            return CLIENT_USAGE;
        }
        if (*at != '!' && !is_listed_option(left_out, key))
            dprintf(options, "%s", at);
    }
    if (path && ferror(file)) {
        warn("%s", path);
        return CLIENT_NO_INPUT;
    }
    return CLIENT_OK;
}

enum client_status
option_file_read(const char *path)
{
    const char *home = getenv("HOME"); /* NOLINT: one thread */
    enum client_status status = CLIENT_OK;
    char usual[OPTION_LINE_BYTES];
    FILE *file;

    snprintf(usual, sizeof(usual), "%s/.my.cnf", home ? home : "");
    options = memfd_create("my.cnf", MFD_CLOEXEC);
    if (options < 0) {
        warn("a copy of the options");
        return CLIENT_NO_INPUT;
    }
    file = fopen(path ? path : usual, "re");
    if (file) {
        status = copy_lines(file, path);
        fclose(file);
    } else if (path) {
        warn("%s", path);
        status = CLIENT_NO_INPUT;
    }
    return status;
}

int
option_file_fd(void)
{
    return options;
}
