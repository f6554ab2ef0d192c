/*
 * main.c - heapwire-passwd: adds an account or a token to a configuration file,
 * or prints a secret for a cluster.
 *
 * Passwords come from the random generator or from stdin, never from the
 * command line, which all users of the machine can read.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "account_file.h"
#include "config.h"
#include "errors.h"
#include "files.h"
#include "sql.h"
#include "auth.h"

enum {                     /* drawn from 57 characters */
       RANDOM_LENGTH = 24, /* 139 bits */
       SECRET_LENGTH = 44  /* 256 bits */
};

struct passwd_options {
    const char *path;
    struct account_change change;
    bool from_stdin, cluster_secret, token, version;
    char password[AUTH_PASSWORD_MAX + 2];
};

static int
print_passwd_error(const char *path, const struct error *err)
{
    fprintf(stderr, "heapwire-passwd: %s%s%s\n", path ? path : "",
            path ? ": " : "", err->text);
    return -1;
}

static void
print_passwd_usage(FILE *out)
{
    fputs(
        "usage: heapwire-passwd FILE NAME [--privileges LIST] [--replace]\n"
        "                       [--stdin | --token]\n"
        "       heapwire-passwd --cluster-secret\n"
        "\n"
        "Adds [user NAME] to the configuration FILE, which is made if need "
        "be, and\nprints the new random password.\n"
        "\n"
        "  --privileges LIST  of status, profile, control, cluster, admin, "
        "tune; or all\n"
        "                     (without: " ACCOUNT_PRIVILEGES ")\n"
        "  --stdin            read the password, one line, and print none\n"
        "  --replace          give an existing user a new password\n"
        "  --token            make a bearer token for HTTP, and print that; "
        "it has\n"
        "                     " ACCOUNT_TOKEN_PRIVILEGES "\n"
        "  --cluster-secret   print a new secret, for [cluster] secret = ...\n"
        "                     in the files of all nodes\n"
        "  --version          print the version\n",
        out);
}

/* The alphabet has no look-alikes (0 O 1 l I).  A byte beyond the largest
 * multiple of its size is drawn again, or its first letters would be likelier.
 */
static int
draw_password(char *out, size_t length, struct error *err)
{
    static const char alphabet[] =
        "23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";
    const size_t letters = sizeof(alphabet) - 1;
    size_t used = 0;
    uint8_t byte;

    while (used < length) {
        if (RAND_bytes(&byte, 1) != 1) {
            error_set(err, ER_UNKNOWN, "no random bytes");
            return -1;
        }
        if (byte < 256 - 256 % letters)
            out[used++] = alphabet[byte % letters];
    }
    out[used] = '\0';
    return 0;
}

static int
read_password(char *out, size_t size, struct error *err)
{
    char *end;

    if (!fgets(out, (int)size, stdin)) {
        error_set(err, ER_WRONG_VALUE, "no password on stdin");
        return -1;
    }
    end = out + strcspn(out, "\r\n");
    if (!*end && strlen(out) == size - 1) {
        error_set(err, ER_WRONG_VALUE, "the password is longer than %d bytes",
                  AUTH_PASSWORD_MAX);
        return -1;
    }
    *end = '\0';
    if (!*out) {
        error_set(err, ER_WRONG_VALUE, "the password is empty");
        return -1;
    }
    return 0;
}

/* 0, or -1 with the faults printed. */
static int
check_config_text(const char *path, const struct buffer *text)
{
    struct config config = {.node_id = 0};
    struct config_faults faults;
    int rc;

    config_faults_init(&faults);
    rc = config_parse(&config, path, text->data, text->size, &faults);
    if (rc != 0 && faults.text.data)
        fputs(faults.text.data, stderr);
    config_fini(&config);
    config_faults_fini(&faults);
    return rc;
}

static int
read_old(const char *path, struct buffer *old, struct stat *st, bool *exists)
{
    struct error err;
    bool readable;

    *exists = lstat(path, st) == 0;
    if (!*exists && errno == ENOENT)
        return 0;
    if (config_read_file(path, old, &readable, &err) != 0)
        return print_passwd_error(path, &err);
    return check_config_text(path, old);
}

/* Keeps the file's owner; of a file that root owns also the group that may read
 * it. */
static int
keep_owner(int fd, const struct stat *old)
{
    if (old->st_uid == 0 && old->st_gid != 0 && old->st_mode & S_IRGRP)
        return fchown(fd, 0, old->st_gid) != 0 || fchmod(fd, 0640) != 0 ? -1
                                                                        : 0;
    return old->st_uid != geteuid() ? fchown(fd, old->st_uid, old->st_gid) : 0;
}

/* A new file takes the name: readers see the old text or the new one, and at no
 * time can others read it. */
static int
replace_config_file(const char *path, const struct buffer *text,
                    const struct stat *old, bool exists)
{
    char temporary[CONFIG_PATH_MAX + 8];
    struct error err;
    int fd, n;

    n = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(temporary)) {
        error_set(&err, ER_WRONG_VALUE, "the name is too long");
        return print_passwd_error(path, &err);
    }
    fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (fd < 0) {
        error_sys(&err, ER_UNKNOWN, "cannot be written");
        return print_passwd_error(path, &err);
    }
    if ((exists && keep_owner(fd, old) != 0) ||
        fd_write_all(fd, text->data, text->size) != 0 || fsync(fd) != 0 ||
        rename(temporary, path) != 0) {
        error_sys(&err, ER_UNKNOWN, "cannot be replaced");
        (void)unlink(temporary);
        fd_close(fd);
        return print_passwd_error(path, &err);
    }
    fd_close(fd);
    return 0;
}

static int
change_file(const struct passwd_options *options)
{
    struct buffer old, new;
    struct error err;
    struct stat st;
    bool exists;
    int rc = -1;

    buffer_init(&old, CONFIG_FILE_MAX);
    buffer_init(&new, CONFIG_FILE_MAX);
    if (read_old(options->path, &old, &st, &exists) != 0)
        goto out;
    if (account_file_change((struct span){old.data ? old.data : "", old.size},
                            &options->change, &new, &err) != 0) {
        print_passwd_error(options->path, &err);
        goto out;
    }
    if (check_config_text(options->path, &new) == 0)
        rc = replace_config_file(options->path, &new, &st, exists);
out:
    buffer_fini(&old);
    buffer_fini(&new);
    return rc;
}

static int
store_account_password(struct passwd_options *options)
{
    struct span password;
    struct error err;
    uint32_t bits;
    int rc;

    if (users_check_name(options->change.name, &err) != 0 ||
        (options->change.privileges &&
         privileges_parse(options->change.privileges, &bits, &err) != 0))
        return print_passwd_error(NULL, &err);
    rc = options->from_stdin
             ? read_password(options->password, sizeof(options->password), &err)
             : draw_password(options->password, RANDOM_LENGTH, &err);
    password = (struct span){options->password, strlen(options->password)};
    if (rc != 0 ||
        verifier_make(&options->change.verifier, password, &err) != 0)
        return print_passwd_error(NULL, &err);
    if (options->token) {
        options->change.verifier.has_native = false;
        options->change.verifier.is_token = true;
    }
    if (change_file(options) != 0)
        return -1;
    if (!options->from_stdin &&
        (printf("%s%s%s\n", options->token ? options->change.name : "",
                options->token ? "." : "", options->password) < 0 ||
         fflush(stdout) != 0)) {
        error_sys(&err, ER_UNKNOWN,
                  "the password is set, but could not be printed (--replace "
                  "draws another)");
        return print_passwd_error(NULL, &err);
    }
    return 0;
}

static int
print_secret(void)
{
    char secret[SECRET_LENGTH + 1];
    struct error err;
    int rc = draw_password(secret, SECRET_LENGTH, &err);

    if (rc == 0 && (puts(secret) < 0 || fflush(stdout) != 0)) {
        error_sys(&err, ER_UNKNOWN, "the secret could not be printed");
        rc = -1;
    }
    OPENSSL_cleanse(secret, sizeof(secret));
    return rc == 0 ? 0 : print_passwd_error(NULL, &err);
}

static int
refuse_words(const char *why)
{
    fprintf(stderr, "heapwire-passwd: %s\n", why);
    return EX_USAGE;
}

/* 0, EX_USAGE, or -1 when there is nothing to do. */
static int
parse_passwd_options(struct passwd_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        {"privileges", required_argument, NULL, 'p'},
        {"stdin", no_argument, NULL, 's'},
        {"replace", no_argument, NULL, 'r'},
        {"cluster-secret", no_argument, NULL, 'c'},
        {"token", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int option;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread */
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'p')
            options->change.privileges = optarg;
        else if (option == 's')
            options->from_stdin = true;
        else if (option == 'r')
            options->change.replace = true;
        else if (option == 'c')
            options->cluster_secret = true;
        else if (option == 't')
            options->token = true;
        else if (option == 'v')
            options->version = true;
        else if (option == 'h')
            return -1;
        else
            return EX_USAGE; /* getopt has said why */
    }
    if (options->cluster_secret || options->version)
        return argc == 2 ? 0
                         : refuse_words("--cluster-secret and --version take "
                                        "nothing else");
    if (argc - optind != 2)
        return refuse_words("give one FILE and one NAME");
    /* A token's digest has no salt, so a token is always drawn, never chosen.
     */
    if (options->token && options->from_stdin)
        return refuse_words("give only one of --stdin and --token");
    options->path = argv[optind];
    options->change.name = argv[optind + 1];
    return 0;
}

int
main(int argc, char **argv)
{
    struct passwd_options options = {.path = NULL};
    int rc = parse_passwd_options(&options, argc, argv);

    if (rc != 0) {
        print_passwd_usage(rc < 0 ? stdout : stderr);
        return rc < 0 ? 0 : rc;
    }
    if (options.version)
        return puts("heapwire-passwd " HW_VERSION) < 0;
    /* before any file is made */
    umask(077);
    rc = options.cluster_secret ? print_secret()
                                : store_account_password(&options);
    OPENSSL_cleanse(&options, sizeof(options));
    return rc == 0 ? 0 : EXIT_FAILURE;
}
