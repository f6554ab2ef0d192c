/*
 * certificate_files.c - see certificate.h.
 *
 * Files that the configuration names are an administrator's: links are
 * followed, and owner and mode of the key are checked as PostgreSQL does.  The
 * node's own files lie in a directory that may have been another user's: no
 * link, no second name, and a new file instead of an overwritten one.  Keys are
 * read into one block that is wiped.
 */
#include "certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "errors.h"
#include "files.h"

/* Reserves all of it at once: growing would leave copies that nobody wipes. */
static void
init_key(struct buffer *b)
{
    buffer_init(b, CERTIFICATE_FILE_MAX);
    /* on failure the buffer is marked as failed */
    (void)buffer_reserve(b, CERTIFICATE_FILE_MAX);
}

static void __attribute__((format(printf, 3, 4)))
set_certificate_note(struct certificate_note *said, bool is_fault,
                     const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said->text, sizeof(said->text), format, args);
    va_end(args);
    said->is_fault = is_fault;
}

/* ---- those of the configuration ---- */

/* As PostgreSQL does: a key that root owns may be readable by a group (Debian's
 * ssl-cert), never by others. */
static int
check_key(const char *path, const struct stat *st, struct error *err)
{
    mode_t refused = S_IRWXO | S_IWGRP | (st->st_uid == 0 ? 0 : S_IRGRP);

    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        error_set(err, ER_WRONG_VALUE,
                  "tls_key = %s: belongs to uid %u (root or uid %u must own "
                  "it)",
                  path, (unsigned)st->st_uid, (unsigned)geteuid());
        return -1;
    }
    if (st->st_mode & refused) {
        error_set(err, ER_WRONG_VALUE,
                  "tls_key = %s: is open to others (chmod 600)", path);
        return -1;
    }
    return 0;
}

static int
read_named(const char *what, const char *path, bool is_key, struct buffer *out,
           struct error *err)
{
    /* O_NONBLOCK: opening a FIFO of that name must not hang the start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct error cause;
    struct stat st;
    int rc = -1;

    if (fd < 0 || fstat(fd, &st) != 0)
        error_sys(err, ER_WRONG_VALUE, "%s = %s: cannot be opened", what, path);
    else if (!S_ISREG(st.st_mode))
        error_set(err, ER_WRONG_VALUE, "%s = %s: is not a regular file", what,
                  path);
    else if (is_key && check_key(path, &st, err) != 0)
        rc = -1;
    else if (fd_read_all(fd, out, path, &cause) != 0)
        error_set(err, ER_WRONG_VALUE, "%s: %s", what, cause.text);
    else
        rc = 0;
    fd_close(fd);
    return rc;
}

int
certificate_read(struct certificate *out, const char *cert_path,
                 const char *key_path, struct certificate_note *said,
                 struct error *err)
{
    struct buffer certs, key;
    struct error cause;
    int days, rc = -1;

    buffer_init(&certs, CERTIFICATE_FILE_MAX);
    init_key(&key);
    if (read_named("tls_cert", cert_path, false, &certs, err) != 0 ||
        read_named("tls_key", key_path, true, &key, err) != 0)
        goto out;
    if (certificate_parse(out, buffer_span(&certs), buffer_span(&key),
                          &cause) != 0) {
        error_set(err, ER_WRONG_VALUE, "tls_cert = %s, tls_key = %s: %s",
                  cert_path, key_path, cause.text);
        goto out;
    }
    days = certificate_days_left(out);
    if (days < 0)
        set_certificate_note(
            said, true,
            "the certificate %s has expired: clients that check it will not "
            "connect",
            cert_path);
    else if (days < CERTIFICATE_EXPIRING)
        set_certificate_note(said, false,
                             "the certificate %s expires in %d days", cert_path,
                             days);
    rc = 0;
out:
    buffer_wipe(&key);
    buffer_fini(&certs);
    return rc;
}

/* The node's own */

/* A symbolic link, or a second name of another user's file, is not trusted even
 * in our own directory: another user may have had it on an earlier run. */
static int
read_own(int dir, const char *name, bool is_key, struct buffer *out,
         struct error *err)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    int rc = -1;

    if (fd < 0 || fstat(fd, &st) != 0)
        error_sys(err, ER_WRONG_VALUE, "%s cannot be opened", name);
    else if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
             (st.st_uid != geteuid() && geteuid() != 0))
        error_set(err, ER_WRONG_VALUE, "%s is not a file that heapwired owns",
                  name);
    else if (is_key && st.st_mode & (S_IRWXG | S_IRWXO))
        error_set(err, ER_WRONG_VALUE, "%s was open to others", name);
    else
        rc = fd_read_all(fd, out, name, err);
    fd_close(fd);
    return rc;
}

static int
load_own(struct certificate *out, int dir, struct error *err)
{
    struct buffer certs, key;
    struct certificate c = {0};
    int days, rc = -1;

    buffer_init(&certs, CERTIFICATE_FILE_MAX);
    init_key(&key);
    if (read_own(dir, CERTIFICATE_OWN_KEY, true, &key, err) != 0 ||
        read_own(dir, CERTIFICATE_OWN, false, &certs, err) != 0 ||
        certificate_parse(&c, buffer_span(&certs), buffer_span(&key), err) != 0)
        goto out;
    days = certificate_days_left(&c);
    if (days < CERTIFICATE_EXPIRING) {
        error_set(err, ER_WRONG_VALUE, "it has %d days left", days);
        certificate_fini(&c);
        goto out;
    }
    *out = c;
    rc = 0;
out:
    buffer_wipe(&key);
    buffer_fini(&certs);
    return rc;
}

static int
write_own(int dir, const char *name, mode_t mode, const struct buffer *text,
          struct error *err)
{
    ssize_t n = -1;
    int fd;

    /* O_EXCL below then makes a new inode: nothing of a former owner is written
     * to. */
    if (unlinkat(dir, name, 0) != 0 && errno != ENOENT) {
        error_sys(err, ER_UNKNOWN, "cannot remove an old %s", name);
        return -1;
    }
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd >= 0 && fchmod(fd, mode) == 0)
        n = write(fd, text->data, text->size);
    if (n < 0 || (size_t)n != text->size || fsync(fd) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot write %s in the state directory",
                  name);
        fd_close(fd);
        return -1;
    }
    fd_close(fd);
    return 0;
}

/* Writes new files, then renames them over the old ones.  A crash between the
 * two renames leaves a key without its certificate, which the next start finds
 * broken and replaces. */
static int
save_own(const struct certificate *c, int dir, struct error *err)
{
    struct buffer certs, key;
    int rc = -1;

    buffer_init(&certs, CERTIFICATE_FILE_MAX);
    init_key(&key);
    if (certificate_print(c, &certs, &key, err) != 0 ||
        write_own(dir, CERTIFICATE_NEW_KEY, 0600, &key, err) != 0 ||
        write_own(dir, CERTIFICATE_NEW, 0644, &certs, err) != 0)
        goto out;
    if (renameat(dir, CERTIFICATE_NEW_KEY, dir, CERTIFICATE_OWN_KEY) != 0 ||
        renameat(dir, CERTIFICATE_NEW, dir, CERTIFICATE_OWN) != 0) {
        error_sys(err, ER_UNKNOWN,
                  "cannot put a new certificate into the state directory");
        goto out;
    }
    rc = 0;
out:
    buffer_wipe(&key);
    buffer_fini(&certs);
    return rc;
}

static bool
is_first_start(int dir)
{
    struct stat st;

    return fstatat(dir, CERTIFICATE_OWN_KEY, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
           fstatat(dir, CERTIFICATE_OWN, &st, AT_SYMLINK_NOFOLLOW) != 0;
}

int
certificate_own(struct certificate *out, int dir, const char *address,
                struct certificate_note *said, struct error *err)
{
    struct certificate c = {0};
    char host[256] = "";
    bool first = is_first_start(dir);
    struct error why;

    if (!first && load_own(out, dir, &why) == 0)
        return 0;
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    if (certificate_init(&c, host, address, err) != 0 ||
        save_own(&c, dir, err) != 0) {
        certificate_fini(&c);
        return -1;
    }
    if (first)
        set_certificate_note(
            said, false, "made a self-signed certificate, " CERTIFICATE_OWN);
    else
        set_certificate_note(
            said, false,
            "made a new self-signed certificate, " CERTIFICATE_OWN
            ", in place of the old one: %s",
            why.text);
    *out = c;
    return 0;
}
