/*
 * keeper.c - see keeper.h.
 *
 * The keeper is this very executable, started under another name, so both ends
 * have one version of each struct and the messages need no format beyond that.
 * One question is asked at a time, under one lock, and blocks its thread: a
 * queue would gain nothing, for the keeper has one thread and needs
 * microseconds.  Any failure of the socket hangs it up, and keeper_watch.c
 * starts another keeper; so an answer can never belong to an earlier question.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "supervised.h"
#include "certificate.h"
#include "config.h"
#include "confined.h"
#include "errors.h"
#include "files.h"
#include "keeper_wire.h"
#include "log.h"
#include "memory.h"

struct keeper {
    struct keeper_signer signer; /* first: request_signature() casts it back */
    char **argv;
    pthread_mutex_t lock; /* guards the rest: one question at a time */
    int fd;               /* -1: there is no keeper */
    pid_t pid;
    /* The loop's.  Keepers count keys from 1 on, so key_base is the last number
     * of the one before: another key has another number, whoever made it. */
    uint32_t key_number, key_base;
};

static int request_signature(struct keeper_signer *signer, uint32_t number,
                             int padding, struct span digest, uint8_t *out,
                             size_t *size, struct error *err);

/* ---- the process ---- */

/* The child gets no descriptor but its socket and no blocked signal. */
static int
spawn_secrets_process(struct keeper *k, int socket, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    char *name = k->argv[0];
    sigset_t none;
    int error;

    sigemptyset(&none);
    error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        /* A library that prints something must not write into a file of ours.
         */
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR,
                                             0);
        posix_spawn_file_actions_adddup2(&actions, socket, KEEPER_FD);
        confined_add_closefrom(&actions, KEEPER_FD + 1);
        error = posix_spawnattr_init(&attr);
    }
    if (error == 0) {
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attr, &none);
        /* The name is how the child knows its role (keeper_is_meant). */
        k->argv[0] = KEEPER_NAME;
        error = posix_spawn(&k->pid, "/proc/self/exe", &actions, &attr, k->argv,
                            environ);
        k->argv[0] = name;
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    if (error != 0)
        error_sys(err, ER_UNKNOWN, "cannot start %s", KEEPER_NAME);
    return error == 0 ? 0 : -1;
}

/* A socket whose number were KEEPER_FD already would be duplicated onto itself,
 * and then stay close-on-exec; so both are moved above it. */
static int
make_sockets(int ends[2])
{
    int fd;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        if (ends[i] > KEEPER_FD)
            continue;
        fd = fcntl(ends[i], F_DUPFD_CLOEXEC, KEEPER_FD + 1);
        if (fd < 0) {
            fd_close(ends[0]);
            fd_close(ends[1]);
            return -1;
        }
        close(ends[i]);
        ends[i] = fd;
    }
    return 0;
}

static int
start_secrets_process(struct keeper *k, struct error *err)
{
    int ends[2];

    if (make_sockets(ends) != 0) {
        error_sys(err, ER_UNKNOWN, "cannot make sockets for %s", KEEPER_NAME);
        return -1;
    }
    if (spawn_secrets_process(k, ends[1], err) != 0) {
        fd_close(ends[0]);
        fd_close(ends[1]);
        return -1;
    }
    fd_close(ends[1]);
    k->fd = ends[0];
    return 0;
}

/* It ends by itself when its socket hangs up, unless it is stopped or busy: so
 * it is killed, and then waited for. */
static void
end_secrets_process(struct keeper *k)
{
    if (k->fd < 0)
        return;
    fd_close(k->fd);
    k->fd = -1;
    kill(k->pid, SIGKILL);
    while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

struct keeper *
keeper_start(char **argv, struct error *err)
{
    struct keeper *k = mem_zalloc(1, sizeof(*k));

    if (!k) {
        error_memory(err, KEEPER_NAME);
        return NULL;
    }
    k->signer.sign = request_signature;
    k->argv = argv;
    k->fd = -1;
    pthread_mutex_init(&k->lock, NULL);
    if (start_secrets_process(k, err) == 0)
        return k;
    keeper_stop(k);
    return NULL;
}

int
keeper_restart(struct keeper *k, struct error *err)
{
    int rc;

    pthread_mutex_lock(&k->lock);
    end_secrets_process(k);
    rc = start_secrets_process(k, err);
    k->key_base = k->key_number;
    pthread_mutex_unlock(&k->lock);
    return rc;
}

void
keeper_stop(struct keeper *k)
{
    if (!k)
        return;
    end_secrets_process(k);
    pthread_mutex_destroy(&k->lock);
    mem_free(k);
}

int
keeper_socket(const struct keeper *k)
{
    return k->fd;
}

/* ---- questions ---- */

struct question {
    struct buffer asked, answer;
    struct reader given; /* the answer's, behind its first byte */
};

static void
question_init(struct question *q, enum keeper_call call)
{
    buffer_init(&q->asked, KEEPER_QUESTION_MAX);
    buffer_init(&q->answer, KEEPER_ANSWER_MAX);
    buffer_u8(&q->asked, (uint8_t)call);
}

static void
question_fini(struct question *q)
{
    buffer_wipe(&q->asked);
    buffer_wipe(&q->answer);
}

/* Reports why, and hangs up, so that keeper_watch starts another. */
static int
fail_secrets_process(struct keeper *k, struct error *err)
{
    static const char then[] = "heapwired starts another, try again";

    /* The message was read to its end: the connection is still in step. */
    if (k->fd >= 0 && errno == ENOMEM) {
        error_memory(err, "an answer of " KEEPER_NAME);
        return -1;
    }
    if (k->fd < 0 || errno == EPIPE || errno == ECONNRESET)
        error_set(err, ER_UNKNOWN, "%s, which has the secrets, has ended; %s",
                  KEEPER_NAME, then);
    else
        error_sys(err, ER_UNKNOWN,
                  "%s, which has the secrets, does not answer (%s)",
                  KEEPER_NAME, then);
    if (k->fd >= 0)
        (void)shutdown(k->fd, SHUT_RDWR);
    return -1;
}

static int
set_secrets_answer_error(struct error *err)
{
    error_set(err, ER_UNKNOWN, "%s sends a malformed answer", KEEPER_NAME);
    return -1;
}

/* Reads the keeper's own error: code and text. */
static int
read_error(struct reader *r, struct error *err)
{
    uint16_t code = reader_u16(r);
    struct span text = reader_rest(r);

    if (r->failed)
        return set_secrets_answer_error(err);
    error_set(err, code, "%.*s", (int)text.size, text.data);
    return -1;
}

static int
ask_secrets_process(struct keeper *k, struct question *q, int timeout_ms,
                    struct error *err)
{
    struct error failed;
    int rc = 0;

    if (q->asked.failed) {
        /* Nothing has been sent yet, so the keeper stays. */
        error_memory(err, "a question to " KEEPER_NAME);
        return -1;
    }
    pthread_mutex_lock(&k->lock);
    if (k->fd < 0 || keeper_send(k->fd, &q->asked, timeout_ms) != 0 ||
        keeper_receive(k->fd, &q->answer, timeout_ms) != 0)
        rc = fail_secrets_process(k, &failed);
    pthread_mutex_unlock(&k->lock);
    if (rc != 0) {
        *err = failed;
        return -1;
    }
    q->given = reader_of(q->answer.data, q->answer.size);
    return reader_u8(&q->given) == 0 ? 0 : read_error(&q->given, err);
}

/* Asks for a yes or a no. */
static int
ask_whether(struct keeper *k, struct question *q, bool *yes, struct error *err)
{
    uint8_t answer;

    if (ask_secrets_process(k, q, KEEPER_ANSWER_MS, err) != 0)
        return -1;
    answer = reader_u8(&q->given);
    if (q->given.failed || answer > 1)
        return set_secrets_answer_error(err);
    *yes = answer;
    return 0;
}

/* ---- configuration ---- */

static int
load_secrets_config(struct keeper *k, const char *cluster,
                    struct config *config, struct config_faults *faults,
                    struct error *err)
{
    struct question q;
    struct span text;
    uint32_t number;
    int rc = -1;

    question_init(&q, KEEPER_LOAD);
    buffer_lenenc_bytes(&q.asked, cluster, strlen(cluster));
    if (ask_secrets_process(k, &q, KEEPER_FILES_MS, err) != 0)
        goto out;
    text = reader_lenenc_bytes(&q.given);
    number = reader_u32(&q.given);
    if (q.given.failed) {
        set_secrets_answer_error(err);
    } else if (text.size > 0) {
        buffer_add(&faults->text, text.data, text.size);
        faults->count++;
        rc = 0;
    } else if (keeper_read_config(&q.given, config, err) == 0) {
        k->key_number = k->key_base + number;
        rc = 0;
    }
out:
    question_fini(&q);
    return rc;
}

int
keeper_load(struct keeper *k, const char *cluster, struct config *config,
            struct config_faults *faults)
{
    struct error err;

    memset(config, 0, sizeof(*config));
    if (load_secrets_config(k, cluster, config, faults, &err) != 0)
        config_fault(faults, "the configuration", 0, "%s", err.text);
    return faults->count ? -1 : 0;
}

uint32_t
keeper_key_number(const struct keeper *k)
{
    return k->key_number;
}

int
keeper_etcd_password(struct keeper *k, char *out, size_t size,
                     struct error *err)
{
    struct question q;
    struct span text;
    int rc = -1;

    question_init(&q, KEEPER_ETCD_PASSWORD);
    if (ask_secrets_process(k, &q, KEEPER_ANSWER_MS, err) == 0) {
        text = reader_rest(&q.given);
        if (text.size < size) {
            memcpy(out, text.data, text.size);
            out[text.size] = '\0';
            rc = 0;
        } else {
            set_secrets_answer_error(err);
        }
    }
    question_fini(&q);
    return rc;
}

int
keeper_become(struct keeper *k, const struct account *account,
              struct error *err)
{
    struct question q;
    int rc;

    question_init(&q, KEEPER_BECOME);
    buffer_u32(&q.asked, account->uid);
    buffer_u32(&q.asked, account->gid);
    rc = ask_secrets_process(k, &q, KEEPER_ANSWER_MS, err);
    question_fini(&q);
    return rc;
}

/* ---- the certificate ---- */

static X509 *
read_x509(struct reader *r)
{
    struct span der = reader_lenenc_bytes(r);
    const unsigned char *at = (const unsigned char *)der.data;

    return d2i_X509(NULL, &at, (long)der.size);
}

/* The leaf comes first, then its chain. */
static bool
read_certificates(struct reader *r, struct certificate *out)
{
    X509 *next;

    out->leaf = read_x509(r);
    out->chain = sk_X509_new_null();
    while (out->leaf && out->chain && reader_left(r) > 0) {
        next = read_x509(r);
        if (!next || sk_X509_push(out->chain, next) == 0) {
            X509_free(next);
            return false;
        }
    }
    return out->leaf && out->chain && !r->failed;
}

static void
log_certificate_note(bool is_fault, struct span note)
{
    if (note.size > 0 && is_fault)
        log_fault("%.*s", (int)note.size, note.data);
    else if (note.size > 0)
        log_line("%.*s", (int)note.size, note.data);
}

static int
request_signature(struct keeper_signer *signer, uint32_t number, int padding,
                  struct span digest, uint8_t *out, size_t *size,
                  struct error *err)
{
    struct keeper *k = (struct keeper *)signer; /* its first member */
    struct question q;
    struct span made;
    int rc = -1;

    question_init(&q, KEEPER_SIGN);
    buffer_u32(&q.asked, number);
    buffer_u8(&q.asked, (uint8_t)padding);
    buffer_add(&q.asked, digest.data, digest.size);
    if (ask_secrets_process(k, &q, KEEPER_ANSWER_MS, err) == 0) {
        made = reader_rest(&q.given);
        if (made.size > 0 && made.size <= *size) {
            memcpy(out, made.data, made.size);
            *size = made.size;
            rc = 0;
        } else {
            set_secrets_answer_error(err);
        }
    }
    question_fini(&q);
    return rc;
}

int
keeper_certificate(struct keeper *k, const char *state_dir,
                   struct certificate *out, struct error *err)
{
    struct certificate c = {0};
    struct question q;
    struct span note;
    uint32_t number;
    bool is_fault;
    int rc = -1;

    question_init(&q, KEEPER_CERTIFICATE);
    buffer_lenenc_bytes(&q.asked, state_dir, strlen(state_dir));
    if (ask_secrets_process(k, &q, KEEPER_FILES_MS, err) != 0)
        goto out;
    number = reader_u32(&q.given);
    is_fault = reader_u8(&q.given);
    note = reader_lenenc_bytes(&q.given);
    if (!read_certificates(&q.given, &c)) {
        set_secrets_answer_error(err);
        goto out;
    }
    log_certificate_note(is_fault, note);
    c.key = keeper_key_new(&k->signer, number, X509_get0_pubkey(c.leaf), err);
    if (!c.key)
        goto out;
    *out = c;
    memset(&c, 0, sizeof(c));
    rc = 0;
out:
    certificate_fini(&c);
    question_fini(&q);
    return rc;
}

/* ---- passwords ---- */

/* Cuts an answer that is too long to one byte too many, which is just as wrong.
 */
static void
put_login(struct question *q, struct span name, const uint8_t *nonce,
          struct span answer)
{
    size_t size = answer.size <= AUTH_SHA256 ? answer.size : AUTH_SHA256 + 1;

    buffer_add(&q->asked, nonce, AUTH_NONCE);
    buffer_lenenc_bytes(&q->asked, name.data, name.size);
    buffer_lenenc_bytes(&q->asked, answer.data, size);
}

int
keeper_check_sha2(struct keeper *k, struct span name,
                  const uint8_t nonce[AUTH_NONCE], struct span answer,
                  bool token, bool *valid, struct error *err)
{
    struct question q;
    int rc;

    question_init(&q, KEEPER_CHECK_SHA2);
    put_login(&q, name, nonce, answer);
    buffer_u8(&q.asked, token);
    rc = ask_whether(k, &q, valid, err);
    question_fini(&q);
    return rc;
}

int
keeper_check_native(struct keeper *k, struct span name,
                    const uint8_t nonce[AUTH_NONCE], struct span answer,
                    const uint8_t *shown, bool *valid,
                    char fingerprint[AUTH_FINGERPRINT], struct error *err)
{
    struct question q;
    struct span text;
    int rc;

    question_init(&q, KEEPER_CHECK_NATIVE);
    put_login(&q, name, nonce, answer);
    buffer_lenenc_bytes(&q.asked, shown, shown ? AUTH_SHA256 : 0);
    rc = ask_whether(k, &q, valid, err);
    if (rc == 0) {
        text = reader_rest(&q.given);
        if (text.size >= AUTH_FINGERPRINT)
            rc = set_secrets_answer_error(err);
        else
            memcpy(fingerprint, text.data, text.size);
        fingerprint[rc == 0 ? text.size : 0] = '\0';
    }
    question_fini(&q);
    return rc;
}

/* ---- the cluster's key ---- */

static int
prove_peer_message(void *arg, enum peer_label label, struct span transcript,
                   uint8_t out[PEER_PROOF], struct error *err)
{
    struct question q;
    struct span proof;
    int rc;

    question_init(&q, KEEPER_PROVE_PEER);
    buffer_u8(&q.asked, (uint8_t)label);
    buffer_add(&q.asked, transcript.data, transcript.size);
    rc = ask_secrets_process(arg, &q, KEEPER_ANSWER_MS, err);
    if (rc == 0) {
        proof = reader_bytes(&q.given, PEER_PROOF);
        if (reader_done(&q.given))
            memcpy(out, proof.data, PEER_PROOF);
        else
            rc = set_secrets_answer_error(err);
    }
    question_fini(&q);
    return rc;
}

static int
check_peer_message(void *arg, enum peer_label label, struct span transcript,
                   const uint8_t proof[PEER_PROOF], bool *valid,
                   struct error *err)
{
    struct question q;
    int rc;

    question_init(&q, KEEPER_CHECK_PEER);
    buffer_add(&q.asked, proof, PEER_PROOF);
    buffer_u8(&q.asked, (uint8_t)label);
    buffer_add(&q.asked, transcript.data, transcript.size);
    rc = ask_whether(arg, &q, valid, err);
    question_fini(&q);
    return rc;
}

struct peer_prover
keeper_prover(struct keeper *k)
{
    return (struct peer_prover){
        .prove = prove_peer_message, .check = check_peer_message, .arg = k};
}
