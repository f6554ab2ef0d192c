/*
 * peer_socket.c - the library's sockets, which never block the loop: see
 * peer_link.h.
 *
 * Its own non-blocking calls do block: with TLS (Connector/C 3.3) they do
 * handshakes and reads without returning.  And they return only when nothing is
 * left to read, which never happens if a node sends faster than we read.  So
 * its plain calls run here on a stack of their own, over sockets of ours: where
 * one would wait, or has read PEER_LINK_RUN bytes in one turn, control leaves
 * the stack for the loop, and comes back when poll allows it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "files.h"
#include "peer_link.h"

#define HAVE_TLS             /* as the library was built */
typedef unsigned char uchar; /* which its headers need */
#include <ma_pvio.h>

/* From <mysql/client_plugin.h>, which cannot be included with Debian's package.
 */
enum { CLIENT_PLUGIN_PVIO_TYPE = 101 };

struct client_pvio_plugin {
    struct st_mysql_client_plugin base; /* first */
    PVIO_METHODS *methods;
};

enum { GUARD = 4096 /* bytes below a stack that fault on access */ };

static void watch_tls(struct peer_link *l, const MARIADB_PVIO *pvio);

static struct peer_link *
link_of(const MARIADB_PVIO *pvio)
{
    return (struct peer_link *)((char *)pvio->mysql -
                                offsetof(struct peer_link, mysql));
}

/* The stack */

int
peer_stack_init(struct peer_link *l, struct error *err)
{
    void *stack =
        mmap(NULL, GUARD + PEER_LINK_STACK, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

    if (stack == MAP_FAILED) {
        error_memory(err, "a connection");
        return -1;
    }
    l->stack = stack;
    if (mprotect(stack, GUARD, PROT_NONE) == 0)
        return 0;
    error_sys(err, ER_OUT_OF_MEMORY, "cannot guard a stack");
    return -1;
}

void
peer_stack_fini(struct peer_link *l)
{
    if (l->stack)
        munmap(l->stack, GUARD + PEER_LINK_STACK);
    l->stack = NULL;
}

void
peer_stack_trim(struct peer_link *l)
{
    (void)madvise(l->stack + GUARD, PEER_LINK_STACK, MADV_DONTNEED);
}

/* On the stack.  makecontext's arguments are ints: a pointer has two. */
static void
enter(unsigned high, unsigned low)
{
    struct peer_link *l =
        (struct peer_link *)((uintptr_t)high << 16 << 16 | (uintptr_t)low);

    l->function(l);
    l->waits = 0;
}

/* OpenSSL reads the thread's error list to explain a call without bytes, and
 * the library leaves other links' errors in it. */
static int
swap_in(struct peer_link *l)
{
    ERR_clear_error();
    l->inside = true;
    swapcontext(&l->outer, &l->inner);
    l->inside = false;
    return l->waits;
}

int
peer_stack_call(struct peer_link *l, void (*function)(struct peer_link *l))
{
    uintptr_t bits = (uintptr_t)l;

    getcontext(&l->inner);
    l->inner.uc_stack.ss_sp = l->stack + GUARD;
    l->inner.uc_stack.ss_size = PEER_LINK_STACK;
    l->inner.uc_link = &l->outer;
    l->function = function;
    makecontext(&l->inner, (void (*)(void))enter, 2,
                (unsigned)(bits >> 16 >> 16), (unsigned)bits);
    return swap_in(l);
}

int
peer_stack_go_on(struct peer_link *l)
{
    return swap_in(l);
}

/* On the stack: leaves it.  False: waits fail now. */
static bool
wait_for(struct peer_link *l, int events)
{
    if (!l->inside || l->abandoned)
        return false;
    l->waits = events;
    swapcontext(&l->inner, &l->outer);
    return !l->abandoned;
}

/* The methods */

static int
wait_io(MARIADB_PVIO *pvio, my_bool is_read, int timeout)
{
    struct peer_link *l = link_of(pvio);

    (void)timeout;
    watch_tls(l, pvio);
    return wait_for(l, is_read ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE) ? 1 : -1;
}

/* The library has allocated room for a packet and touched none of it yet: may
 * it be filled? */
static bool
is_starved(struct peer_link *l)
{
    if (l->large || l->abandoned || l->mysql.net.max_packet <= PEER_LINK_KEPT)
        return false;
    if (!l->starved) {
        l->large = l->events->grows(l);
        l->starved = !l->large;
    }
    return l->starved;
}

void
peer_link_note_byte(struct peer_link *l)
{
    if (l->heard || l->state == PEER_LINK_CONNECTING)
        return;
    l->heard = true;
    l->heard_ns = uv_hrtime();
}

static void
count(struct peer_link *l, size_t bytes)
{
    l->run += bytes;
    l->bytes += bytes;
    peer_link_note_byte(l);
}

static ssize_t
read_some(MARIADB_PVIO *pvio, uchar *buffer, size_t length)
{
    struct peer_link *l = link_of(pvio);
    ssize_t got;

    while (l->run >= PEER_LINK_RUN || is_starved(l))
        if (!wait_for(l, MYSQL_WAIT_READ))
            return -1;
    for (;;) {
        got = recv(l->fd, buffer, length, MSG_DONTWAIT);
        if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
        if (errno == EAGAIN && !wait_for(l, MYSQL_WAIT_READ))
            return -1;
    }
    if (got > 0)
        count(l, (size_t)got);
    return got;
}

static ssize_t
write_some(MARIADB_PVIO *pvio, const uchar *buffer, size_t length)
{
    struct peer_link *l = link_of(pvio);
    ssize_t put;

    for (;;) {
        put = send(l->fd, buffer, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put >= 0 || (errno != EAGAIN && errno != EINTR))
            return put;
        if (errno == EAGAIN && !wait_for(l, MYSQL_WAIT_WRITE))
            return -1;
    }
}

/* Numeric addresses alone: names would need a resolver. */
static socklen_t
address_of(const struct peer_place *place, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    struct sockaddr_un *local = (struct sockaddr_un *)out;

    memset(out, 0, sizeof(*out));
    if (place->socket) {
        local->sun_family = AF_UNIX;
        if (strlen(place->socket) >= sizeof(local->sun_path))
            return 0;
        memcpy(local->sun_path, place->socket, strlen(place->socket) + 1);
        return sizeof(*local);
    }
    if (inet_pton(AF_INET, place->address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(place->port);
        return sizeof(*four);
    }
    if (inet_pton(AF_INET6, place->address, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(place->port);
    return sizeof(*six);
}

/* Without keep-alives the link to a vanished host looks alive. */
static void
expect_signs_of_life(const struct peer_link *l)
{
    unsigned silent_ms = (unsigned)(PEER_LINK_SILENT * l->timeout_ms);
    int on = 1, idle_s = (int)(silent_ms / 1000),
        interval_s = (int)(l->timeout_ms / 1000);

    if (idle_s < 1 || interval_s < 1)
        idle_s = interval_s = 1;
    (void)setsockopt(l->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(l->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    (void)setsockopt(l->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s,
                     sizeof(interval_s));
    (void)setsockopt(l->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms,
                     sizeof(silent_ms));
}

/* 0, or errno. */
static int
connect_now(struct peer_link *l)
{
    struct sockaddr_storage address;
    socklen_t size = address_of(&l->place, &address), length = sizeof(int);
    int why = 0, on = 1;

    if (size == 0)
        return EINVAL;
    l->fd = socket(address.ss_family,
                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return errno;
    if (connect(l->fd, (struct sockaddr *)&address, size) != 0) {
        if (errno != EINPROGRESS)
            return errno;
        if (!wait_for(l, MYSQL_WAIT_WRITE))
            return ETIMEDOUT;
        if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &why, &length) != 0)
            return errno;
    }
    if (why == 0 && !l->place.socket) {
        (void)setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        expect_signs_of_life(l);
    }
    return why;
}

static my_bool
connect_link(MARIADB_PVIO *pvio, MA_PVIO_CINFO *info)
{
    struct peer_link *l;

    pvio->mysql = info->mysql;
    pvio->type = info->type;
    l = link_of(pvio);
    l->system_error = connect_now(l);
    l->established = l->system_error == 0;
    return l->system_error != 0 ? 1 : 0;
}

static my_bool
close_link(MARIADB_PVIO *pvio)
{
    struct peer_link *l = pvio->mysql ? link_of(pvio) : NULL;

    if (l) {
        fd_close(l->fd);
        l->fd = -1;
    }
    return 0;
}

static my_bool
get_handle(MARIADB_PVIO *pvio, void *handle)
{
    *(my_socket *)handle = pvio->mysql ? link_of(pvio)->fd : -1;
    return 0;
}

static my_bool
set_timeout(MARIADB_PVIO *pvio, enum enum_pvio_timeout type, int timeout)
{
    (void)timeout;
    pvio->timeout[type] = -1; /* our timeouts are shorter */
    return 0;
}

static int
get_timeout(MARIADB_PVIO *pvio, enum enum_pvio_timeout type)
{
    return pvio->timeout[type];
}

static int
blocking(MARIADB_PVIO *pvio, my_bool value, my_bool *before)
{
    (void)pvio;
    (void)value;
    if (before)
        *before = 0;
    return 0;
}

static my_bool
is_blocking(MARIADB_PVIO *pvio)
{
    (void)pvio;
    return 0;
}

static int
nothing(MARIADB_PVIO *pvio)
{
    (void)pvio;
    return 0;
}

static int
shut(MARIADB_PVIO *pvio)
{
    return shutdown(link_of(pvio)->fd, SHUT_RDWR);
}

static my_bool
is_alive(MARIADB_PVIO *pvio)
{
    return link_of(pvio)->fd >= 0 ? 1 : 0;
}

static my_bool
has_data(MARIADB_PVIO *pvio, ssize_t *length)
{
    (void)pvio;
    *length = 0;
    return 0;
}

static PVIO_METHODS methods = {.set_timeout = set_timeout,
                               .get_timeout = get_timeout,
                               .read = read_some,
                               .async_read = read_some,
                               .write = write_some,
                               .async_write = write_some,
                               .wait_io_or_timeout = wait_io,
                               .blocking = blocking,
                               .connect = connect_link,
                               .close = close_link,
                               .fast_send = nothing,
                               .keepalive = nothing,
                               .get_handle = get_handle,
                               .is_blocking = is_blocking,
                               .is_alive = is_alive,
                               .has_data = has_data,
                               .shutdown = shut};

/* <ma_pvio.h> is internal, and differs between versions of the library. */
static int
check_library(struct error *err)
{
    enum { PATCHES = 100 };

    if (mysql_get_client_version() / PATCHES ==
        MARIADB_PACKAGE_VERSION_ID / PATCHES)
        return 0;
    error_set(err, ER_UNKNOWN,
              "heapwired was built for MariaDB Connector/C %s, and finds %s: "
              "build it anew",
              MARIADB_PACKAGE_VERSION, mysql_get_client_info());
    return -1;
}

int
peer_socket_prepare(struct error *err)
{
    struct client_pvio_plugin *plugin;
    MYSQL *mysql;

    if (check_library(err) != 0)
        return -1;
    mysql = mysql_init(NULL);
    if (!mysql) {
        error_memory(err, "libmysqlclient");
        return -1;
    }
    plugin = (struct client_pvio_plugin *)mysql_client_find_plugin(
        mysql, "pvio_socket", CLIENT_PLUGIN_PVIO_TYPE);
    mysql_close(mysql);
    if (!plugin) {
        error_set(err, ER_UNKNOWN, "libmysqlclient has no sockets");
        return -1;
    }
    plugin->methods = &methods;
    return 0;
}

/* Runs around each read of encrypted bytes by OpenSSL. */
static long
on_bio(BIO *bio, int what, const char *data, size_t size, int number,
       long other, int result, size_t *done)
{
    struct peer_link *l = (struct peer_link *)BIO_get_callback_arg(bio);

    (void)data;
    (void)size;
    (void)number;
    (void)other;
    if (what == BIO_CB_READ && (l->run >= PEER_LINK_RUN || is_starved(l))) {
        BIO_clear_retry_flags(bio);
        BIO_set_retry_read(bio);
        return -1;
    }
    if (what == (BIO_CB_READ | BIO_CB_RETURN) && result > 0 && done)
        count(l, *done);
    return what & BIO_CB_RETURN ? result : 1;
}

bool
peer_socket_is_proven(const struct peer_link *l)
{
    MARIADB_TLS *tls = l->mysql.net.pvio->ctls;
    X509 *shown = tls ? SSL_get1_peer_certificate(tls->ssl) : NULL;
    uint8_t print[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    bool is = shown && l->client.has_fingerprint &&
              X509_digest(shown, EVP_sha1(), print, &size) == 1 &&
              size == PEER_FINGERPRINT &&
              memcmp(print, l->client.fingerprint, size) == 0;

    X509_free(shown);
    return is;
}

/* The library's read-ahead buffer, 16 KB; OpenSSL has its own. */
static void
drop_cache(MARIADB_PVIO *pvio)
{
    if (pvio->cache_size > 0 &&
        pvio->cache_pos < pvio->cache + pvio->cache_size)
        return; /* it has bytes */
    free(pvio->cache);
    pvio->cache = pvio->cache_pos = NULL;
    pvio->cache_size = 0;
}

/* From the first wait on, which is the handshake's: the other end has not
 * proven itself yet, and must not keep us reading. */
static void
watch_tls(struct peer_link *l, const MARIADB_PVIO *pvio)
{
    BIO *bio = pvio->ctls ? SSL_get_rbio(pvio->ctls->ssl) : NULL;

    if (!bio || BIO_get_callback_ex(bio))
        return;
    BIO_set_callback_ex(bio, on_bio);
    BIO_set_callback_arg(bio, (char *)l);
}

void
peer_socket_connected(struct peer_link *l)
{
    MARIADB_PVIO *pvio = l->mysql.net.pvio;

    if (!pvio->ctls)
        return;
    watch_tls(l, pvio);
    drop_cache(pvio);
    /* 34 KB, while idle */
    SSL_set_mode(pvio->ctls->ssl, SSL_MODE_RELEASE_BUFFERS);
}
