/*
 * keeper_serve.c - see keeper.h.
 *
 * One question is read, answered and wiped at a time, by one thread without a
 * loop: whatever a question can make this process do is in the table of nine
 * functions below, and nothing else of heapwired runs here.  None gives out a
 * verifier, the cluster's secret or a private key; the only secret that leaves
 * is etcd's password, which a login to etcd needs.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "supervised.h"
#include "certificate.h"
#include "config.h"
#include "errors.h"
#include "files.h"
#include "keeper_wire.h"
#include "peer_key.h"
#include "tls_stream.h"
#include "auth.h"

/* A handshake that began before a reload still signs with its former key. */
enum { KEYS = 2, STATE_DIR_MAX = 1024 };

struct safe {
    const struct arguments *arguments;
    struct config config; /* the last one without a fault */
    struct peer_key peer_key;
    uint32_t peer_number; /* counts keys; 0: there is none */
    char cluster[PEER_CLUSTER_MAX + 1];
    EVP_PKEY *keys[KEYS]; /* the key of certificate n at n % KEYS */
    uint32_t certificates;
};

static int
set_secrets_question_error(struct error *err)
{
    error_set(err, ER_MALFORMED_PACKET, "%s was asked a malformed question",
              KEEPER_NAME);
    return -1;
}

/* ---- configuration ---- */

/* The key is of the cluster's name that heapwired had at its start, even if the
 * file has another now. */
static int
make_peer_key(struct safe *safe, const struct config *config,
              struct span cluster, struct error *err)
{
    const char *secret = config->cluster.secret;
    char name[PEER_CLUSTER_MAX + 1];
    struct peer_key key;

    snprintf(name, sizeof(name), "%.*s", (int)cluster.size, cluster.data);
    if (!*name)
        memcpy(name, config->cluster.name, sizeof(name));
    /* The same name and secret keep the number, so that links stay. */
    if (safe->peer_number > 0 && strcmp(name, safe->cluster) == 0 &&
        strcmp(secret, safe->config.cluster.secret) == 0)
        return 0;
    if (peer_key_make(&key, name, secret, err) != 0)
        return -1;
    safe->peer_key = key;
    safe->peer_number++;
    memcpy(safe->cluster, name, sizeof(name));
    OPENSSL_cleanse(&key, sizeof(key));
    return 0;
}

static int
serve_load(struct safe *safe, struct reader *in, struct buffer *out,
           struct error *err)
{
    struct span cluster = reader_lenenc_bytes(in);
    struct config_faults faults;
    struct config config;
    int rc;

    if (!reader_done(in) || cluster.size > PEER_CLUSTER_MAX)
        return set_secrets_question_error(err);
    config_faults_init(&faults);
    rc = config_load(&config, &safe->arguments->config, &faults);
    if (rc == 0 && make_peer_key(safe, &config, cluster, err) != 0) {
        config_fault(&faults, "[cluster]", 0, "%s", err->text);
        rc = -1;
    }
    buffer_lenenc_bytes(out, faults.text.data, faults.text.size);
    buffer_u32(out, safe->peer_number);
    /* A faulty configuration changes nothing: logins go on with the former one.
     */
    if (rc == 0) {
        keeper_put_config(out, &config);
        config_fini(&safe->config);
        safe->config = config;
    } else {
        config_fini(&config);
    }
    /* A copy of what was moved or freed, with the secrets in it. */
    OPENSSL_cleanse(&config, sizeof(config));
    if (rc != 0 && faults.text.size == 0)
        error_memory(err, "the configuration's faults");
    else
        rc = 0;
    config_faults_fini(&faults);
    return rc;
}

static int
serve_etcd_password(struct safe *safe, struct reader *in, struct buffer *out,
                    struct error *err)
{
    if (!reader_done(in))
        return set_secrets_question_error(err);
    buffer_text(out, safe->config.cluster.etcd.password);
    return 0;
}

static int
serve_become(struct safe *safe, struct reader *in, struct buffer *out,
             struct error *err)
{
    struct account account;

    (void)safe;
    (void)out;
    account.uid = reader_u32(in);
    account.gid = reader_u32(in);
    if (!reader_done(in))
        return set_secrets_question_error(err);
    if (become(&account, err) != 0)
        return -1;
    /* A change of uid clears PDEATHSIG and may set dumpable again. */
    keeper_harden();
    return 0;
}

/* ---- the certificate ---- */

static int
read_certificate(const struct safe *safe, const char *state_dir,
                 struct certificate *out, struct certificate_note *note,
                 struct error *err)
{
    const struct config *config = &safe->config;
    int dir, rc;

    if (*config->tls_cert)
        return certificate_read(out, config->tls_cert, config->tls_key, note,
                                err);
    dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) {
        error_sys(err, ER_UNKNOWN, "cannot open the state directory %s",
                  state_dir);
        return -1;
    }
    rc = certificate_own(out, dir, config->listen.text, note, err);
    fd_close(dir);
    return rc;
}

static bool
put_x509(struct buffer *out, X509 *cert)
{
    unsigned char *der = NULL;
    int size = i2d_X509(cert, &der);

    if (size > 0)
        buffer_lenenc_bytes(out, der, (size_t)size);
    OPENSSL_free(der);
    return size > 0;
}

static void
put_certificates(struct buffer *out, const struct certificate *c)
{
    bool ok = put_x509(out, c->leaf);

    for (int i = 0; ok && i < sk_X509_num(c->chain); i++)
        ok = put_x509(out, sk_X509_value(c->chain, i));
    out->failed |= !ok;
}

static int
serve_certificate(struct safe *safe, struct reader *in, struct buffer *out,
                  struct error *err)
{
    struct span state_dir = reader_lenenc_bytes(in);
    struct certificate_note note = {.text = ""};
    struct certificate c = {0};
    char path[STATE_DIR_MAX];
    EVP_PKEY **place;

    if (!reader_done(in) || state_dir.size >= sizeof(path))
        return set_secrets_question_error(err);
    memcpy(path, state_dir.data, state_dir.size);
    path[state_dir.size] = '\0';
    if (read_certificate(safe, path, &c, &note, err) != 0)
        return -1;
    buffer_u32(out, ++safe->certificates);
    buffer_u8(out, note.is_fault);
    buffer_lenenc_bytes(out, note.text, strlen(note.text));
    put_certificates(out, &c);
    place = &safe->keys[safe->certificates % KEYS];
    EVP_PKEY_free(*place);
    /* safe keeps the key; heapwired gets the certificates alone */
    *place = c.key;
    c.key = NULL;
    certificate_fini(&c);
    return 0;
}

static bool
sign_with_private_key(EVP_PKEY *key, int padding, struct span digest,
                      uint8_t *out, size_t *size)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    bool ok = ctx && EVP_PKEY_sign_init(ctx) == 1 &&
              (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA ||
               EVP_PKEY_CTX_set_rsa_padding(ctx, padding) == 1) &&
              EVP_PKEY_sign(ctx, out, size, (const uint8_t *)digest.data,
                            digest.size) == 1;

    EVP_PKEY_CTX_free(ctx);
    return ok;
}

static int
serve_sign(struct safe *safe, struct reader *in, struct buffer *out,
           struct error *err)
{
    uint32_t number = reader_u32(in);
    uint8_t padding = reader_u8(in);
    struct span digest = reader_rest(in);
    EVP_PKEY *key = safe->keys[number % KEYS];
    uint8_t made[KEEPER_SIGNATURE_MAX];
    size_t size = sizeof(made);

    if (in->failed || digest.size == 0)
        return set_secrets_question_error(err);
    /* Numbers of keys that a later certificate has replaced are refused, or
     * that one's key would sign. */
    if (!key || number > safe->certificates ||
        number + KEYS <= safe->certificates) {
        error_set(err, ER_UNKNOWN, "the key of that certificate is gone");
        return -1;
    }
    ERR_clear_error();
    if (!sign_with_private_key(key, padding, digest, made, &size)) {
        error_set(err, ER_UNKNOWN, "OpenSSL cannot sign: %s", tls_reason());
        return -1;
    }
    buffer_add(out, made, size);
    return 0;
}

/* ---- passwords ---- */

struct login {
    const uint8_t *nonce;
    struct span name, answer;
    struct user user; /* made up, for a name that does not exist */
};

static int
read_login_user(const struct safe *safe, struct reader *in, struct login *login,
                struct error *err)
{
    login->nonce = (const uint8_t *)reader_bytes(in, AUTH_NONCE).data;
    login->name = reader_lenenc_bytes(in);
    login->answer = reader_lenenc_bytes(in);
    if (in->failed)
        return set_secrets_question_error(err);
    if (safe->config.users)
        return users_find(safe->config.users, login->name, &login->user, err);
    error_set(
        err, ER_UNKNOWN,
        "no password can be checked: the configuration could not be read");
    return -1;
}

static int
serve_native(struct safe *safe, struct reader *in, struct buffer *out,
             struct error *err)
{
    char text[AUTH_FINGERPRINT] = "";
    struct login login;
    struct span shown;
    bool valid;

    if (read_login_user(safe, in, &login, err) != 0)
        return -1;
    shown = reader_lenenc_bytes(in);
    if (!reader_done(in) || (shown.size > 0 && shown.size != AUTH_SHA256))
        return set_secrets_question_error(err);
    /* privileges: a made-up user has none.  It is looked at last, so that
     * unknown names take as long. */
    valid =
        auth_check_native(&login.user.verifier, login.nonce, login.answer) &&
        login.user.privileges;
    if (valid && shown.size > 0 &&
        auth_fingerprint(&login.user.verifier, login.nonce,
                         (const uint8_t *)shown.data, text) != 0)
        text[0] = '\0';
    buffer_u8(out, valid);
    buffer_text(out, text);
    OPENSSL_cleanse(&login.user, sizeof(login.user));
    return 0;
}

static int
serve_sha2(struct safe *safe, struct reader *in, struct buffer *out,
           struct error *err)
{
    struct login login;
    bool token;

    if (read_login_user(safe, in, &login, err) != 0)
        return -1;
    token = reader_u8(in) != 0;
    if (!reader_done(in))
        return set_secrets_question_error(err);
    buffer_u8(
        out, auth_check_sha2(&login.user.verifier, login.nonce, login.answer) &&
                 login.user.privileges &&
                 login.user.verifier.is_token == token);
    OPENSSL_cleanse(&login.user, sizeof(login.user));
    return 0;
}

/* ---- the cluster's key ---- */

static int
check_peer_key(const struct safe *safe, const struct reader *in,
               struct error *err)
{
    if (in->failed)
        return set_secrets_question_error(err);
    if (safe->peer_number > 0)
        return 0;
    error_set(err, ER_UNKNOWN,
              "there is no key of a cluster: the "
              "configuration could not be read");
    return -1;
}

static int
serve_prove_peer(struct safe *safe, struct reader *in, struct buffer *out,
                 struct error *err)
{
    enum peer_label label = reader_u8(in);
    struct span transcript = reader_rest(in);
    uint8_t proof[PEER_PROOF];

    if (check_peer_key(safe, in, err) != 0 ||
        peer_key_prove(&safe->peer_key, label, transcript, proof, err) != 0)
        return -1;
    buffer_add(out, proof, sizeof(proof));
    return 0;
}

static int
serve_check_peer(struct safe *safe, struct reader *in, struct buffer *out,
                 struct error *err)
{
    struct span proof = reader_bytes(in, PEER_PROOF);
    enum peer_label label = reader_u8(in);
    struct span transcript = reader_rest(in);
    bool valid = false;

    if (check_peer_key(safe, in, err) != 0 ||
        peer_key_check(&safe->peer_key, label, transcript,
                       (const uint8_t *)proof.data, &valid, err) != 0)
        return -1;
    buffer_u8(out, valid);
    return 0;
}

/* ---- the loop ---- */

/* Appends the result; -1 with *err, which is then sent instead. */
typedef int serve_fn(struct safe *safe, struct reader *in, struct buffer *out,
                     struct error *err);

static serve_fn *const calls[KEEPER_CALLS] = {
    [KEEPER_LOAD] = serve_load,
    [KEEPER_CERTIFICATE] = serve_certificate,
    [KEEPER_CHECK_NATIVE] = serve_native,
    [KEEPER_CHECK_SHA2] = serve_sha2,
    [KEEPER_PROVE_PEER] = serve_prove_peer,
    [KEEPER_CHECK_PEER] = serve_check_peer,
    [KEEPER_SIGN] = serve_sign,
    [KEEPER_ETCD_PASSWORD] = serve_etcd_password,
    [KEEPER_BECOME] = serve_become,
};

static void
answer_secrets_question(struct safe *safe, const struct buffer *asked,
                        struct buffer *out)
{
    struct reader in = reader_of(asked->data, asked->size);
    uint8_t call = reader_u8(&in);
    struct error err;

    buffer_u8(out, 0);
    if ((asked->failed || in.failed || call >= KEEPER_CALLS
             ? set_secrets_question_error(&err)
             : calls[call](safe, &in, out, &err)) == 0) {
        if (!out->failed)
            return;
        error_memory(&err, "an answer");
    }
    /* What was appended before the error is wiped: it may be half a result. */
    buffer_wipe(out);
    buffer_init(out, KEEPER_ANSWER_MAX);
    buffer_u8(out, 1);
    buffer_u16(out, err.code);
    buffer_text(out, err.text);
}

bool
keeper_is_meant(const char *name)
{
    return name && strcmp(name, KEEPER_NAME) == 0;
}

/* Ignores signals that a terminal or a supervisor sends to heapwired's whole
 * group, because the keeper ends when heapwired does.  DUMPABLE 0 keeps others
 * of its user from ptrace and /proc/PID/mem. */
void
keeper_harden(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    const struct rlimit none = {0, 0};

    (void)prctl(PR_SET_NAME, KEEPER_NAME);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_RTPRIO, &none);
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
}

int
keeper_serve(const struct arguments *arguments)
{
    struct safe safe = {.arguments = arguments};
    struct buffer asked, given;
    bool served = true;

    umask(077);
    while (served) {
        buffer_init(&asked, KEEPER_QUESTION_MAX);
        buffer_init(&given, KEEPER_ANSWER_MAX);
        /* -1: it waits for questions for ever; a socket that hung up ends it.
         */
        served = keeper_receive(KEEPER_FD, &asked, -1) == 0 || errno == ENOMEM;
        if (served) {
            answer_secrets_question(&safe, &asked, &given);
            served = keeper_send(KEEPER_FD, &given, KEEPER_ANSWER_MS) == 0;
        }
        buffer_wipe(&asked);
        buffer_wipe(&given);
    }
    for (size_t i = 0; i < KEYS; i++)
        EVP_PKEY_free(safe.keys[i]);
    config_fini(&safe.config);
    OPENSSL_cleanse(&safe, sizeof(safe));
    return EX_OK;
}
