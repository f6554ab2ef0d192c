/* test_certificate.c - certificates made, printed, parsed, kept in files. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "buffer.h"
#include "certificate.h"
#include "errors.h"
#include "suite.h"

static struct certificate made;
static struct buffer certs, key;
static struct certificate_note note; /* what was said last */
static char directory[64];
static int dir;

static void
setup(void)
{
    struct error err;

    buffer_init(&certs, CERTIFICATE_FILE_MAX);
    buffer_init(&key, CERTIFICATE_FILE_MAX);
    ck_assert_int_eq(certificate_init(&made, "db-1.example", "10.1.2.3", &err),
                     0);
    ck_assert_int_eq(certificate_print(&made, &certs, &key, &err), 0);
    snprintf(directory, sizeof(directory), "/tmp/hw-certificate-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    dir = open(directory, O_RDONLY | O_DIRECTORY);
}

static void
teardown(void)
{
    char name[512];
    struct dirent *entry;
    DIR *entries = opendir(directory);

    while ((entry = readdir(entries))) {
        snprintf(name, sizeof(name), "%s/%s", directory, entry->d_name);
        unlink(name);
    }
    closedir(entries);
    close(dir);
    rmdir(directory);
    certificate_fini(&made);
    buffer_fini(&certs);
    buffer_fini(&key);
}

START_TEST(what_is_made_is_self_signed_and_good_for_years)
{
    static const char *const names[] = {"localhost", "db-1.example"};

    ck_assert_int_eq(X509_verify(made.leaf, made.key), 1);
    ck_assert_int_eq(EVP_PKEY_get_bits(made.key), 256);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ck_assert_int_eq(
            X509_check_host(made.leaf, names[i], strlen(names[i]), 0, NULL), 1);
    ck_assert_int_eq(X509_check_ip_asc(made.leaf, "127.0.0.1", 0), 1);
    ck_assert_int_eq(X509_check_ip_asc(made.leaf, "::1", 0), 1);
    ck_assert_int_eq(X509_check_ip_asc(made.leaf, "10.1.2.3", 0), 1);
    ck_assert_int_eq(X509_check_host(made.leaf, "other", 5, 0, NULL), 0);
    ck_assert_int_ge(certificate_days_left(&made), CERTIFICATE_DAYS - 1);
}
END_TEST

START_TEST(a_strange_name_or_no_address_is_left_out)
{
    static const struct {
        const char *host, *address;
    } hosts[] = {{"", ""},
                 {"a,DNS:evil", "0.0.0.0"},
                 {"a b", "10.0.0.1,DNS:evil"},
                 {"\xc3\xa9", "::"}};
    struct certificate c;
    struct error err;

    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        ck_assert_int_eq(
            certificate_init(&c, hosts[i].host, hosts[i].address, &err), 0);
        ck_assert_int_eq(X509_check_host(c.leaf, "localhost", 9, 0, NULL), 1);
        ck_assert_int_eq(X509_check_host(c.leaf, "evil", 4, 0, NULL), 0);
        ck_assert_int_eq(X509_check_ip_asc(c.leaf, "0.0.0.0", 0), 0);
        ck_assert_int_eq(X509_check_ip_asc(c.leaf, "::", 0), 0);
        certificate_fini(&c);
    }
}
END_TEST

START_TEST(what_is_printed_is_read_and_cut_anywhere_refused)
{
    struct certificate c;
    struct error err;

    ck_assert_int_eq(
        certificate_parse(&c, buffer_span(&certs), buffer_span(&key), &err), 0);
    ck_assert_int_eq(X509_cmp(c.leaf, made.leaf), 0);
    certificate_fini(&c);
    /* Without its last newline it is whole. */
    for (size_t size = 0; size + 1 < certs.size; size++)
        ck_assert_int_eq(certificate_parse(&c, (struct span){certs.data, size},
                                           buffer_span(&key), &err),
                         -1);
    for (size_t size = 0; size + 1 < key.size; size++)
        ck_assert_int_eq(certificate_parse(&c, buffer_span(&certs),
                                           (struct span){key.data, size}, &err),
                         -1);
}
END_TEST

START_TEST(a_chain_is_kept_and_has_a_ceiling)
{
    struct certificate c;
    struct buffer many;
    struct error err;

    buffer_init(&many, CERTIFICATE_FILE_MAX);
    for (int count = 1; count <= CERTIFICATE_CHAIN_MAX + 2; count++) {
        buffer_add(&many, certs.data, certs.size);
        if (certificate_parse(&c, buffer_span(&many), buffer_span(&key),
                              &err) != 0) {
            ck_assert_int_eq(count, CERTIFICATE_CHAIN_MAX + 2);
            ck_assert_str_eq(err.text, "holds more than 11 certificates");
            break;
        }
        ck_assert_int_eq(sk_X509_num(c.chain), count - 1);
        certificate_fini(&c);
    }
    buffer_clear(&many);
    buffer_add(&many, certs.data, certs.size);
    buffer_text(&many, "-----BEGIN CERTIFICATE-----\nAAAA\n"
                       "-----END CERTIFICATE-----\n");
    ck_assert_int_eq(
        certificate_parse(&c, buffer_span(&many), buffer_span(&key), &err), -1);
    buffer_fini(&many);
}
END_TEST

START_TEST(anothers_key_and_an_encrypted_one_are_refused)
{
    static const char encrypted[] =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgAAAAAAAAAAAICCAAw\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n";
    struct certificate other, c;
    struct buffer other_certs, other_key;
    struct error err;

    buffer_init(&other_certs, CERTIFICATE_FILE_MAX);
    buffer_init(&other_key, CERTIFICATE_FILE_MAX);
    ck_assert_int_eq(certificate_init(&other, "", "", &err), 0);
    ck_assert_int_eq(certificate_print(&other, &other_certs, &other_key, &err),
                     0);
    ck_assert_int_eq(certificate_parse(&c, buffer_span(&certs),
                                       buffer_span(&other_key), &err),
                     -1);
    ck_assert_str_eq(err.text, "the key is not the certificate's");
    ck_assert_int_eq(certificate_parse(
                         &c, buffer_span(&certs),
                         (struct span){encrypted, sizeof(encrypted) - 1}, &err),
                     -1);
    ck_assert_ptr_nonnull(strstr(err.text, "without a passphrase"));
    certificate_fini(&other);
    buffer_fini(&other_certs);
    buffer_fini(&other_key);
}
END_TEST

static mode_t
mode_of(const char *name)
{
    struct stat st;

    ck_assert_int_eq(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode;
}

START_TEST(the_nodes_own_is_made_once)
{
    struct certificate first, second;
    struct error err;

    note.text[0] = '\0';
    ck_assert_int_eq(certificate_own(&first, dir, "", &note, &err), 0);
    ck_assert_ptr_nonnull(strstr(note.text, "made a self-signed"));
    ck_assert(!note.is_fault);
    ck_assert_uint_eq(mode_of(CERTIFICATE_OWN_KEY), S_IFREG | 0600);
    ck_assert_uint_eq(mode_of(CERTIFICATE_OWN), S_IFREG | 0644);
    ck_assert_int_eq(certificate_own(&second, dir, "", &note, &err), 0);
    ck_assert_int_eq(X509_cmp(first.leaf, second.leaf), 0);
    certificate_fini(&first);
    certificate_fini(&second);
}
END_TEST

static void
write_at(const char *name, const void *data, size_t size, mode_t mode)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void
spoil_nothing(void)
{
}

static void
spoil_cert(void)
{
    write_at(CERTIFICATE_OWN, "junk", 4, 0644);
}

static void
spoil_key(void)
{
    write_at(CERTIFICATE_OWN_KEY, key.data, key.size, 0600); /* another's */
}

static void
empty_key(void)
{
    write_at(CERTIFICATE_OWN_KEY, "", 0, 0600);
}

static void
remove_key(void)
{
    unlinkat(dir, CERTIFICATE_OWN_KEY, 0);
}

static void
open_key(void)
{
    ck_assert_int_eq(fchmodat(dir, CERTIFICATE_OWN_KEY, 0640, 0), 0);
}

static void
link_key(void)
{
    ck_assert_int_eq(linkat(dir, CERTIFICATE_OWN_KEY, dir, "second", 0), 0);
}

static void
symlink_key(void)
{
    renameat(dir, CERTIFICATE_OWN_KEY, dir, "elsewhere");
    ck_assert_int_eq(symlinkat("elsewhere", dir, CERTIFICATE_OWN_KEY), 0);
}

static void
expire(void)
{
    struct error err;

    X509_gmtime_adj(X509_getm_notAfter(made.leaf), 29L * 24 * 3600);
    X509_sign(made.leaf, made.key, EVP_sha256());
    buffer_clear(&certs);
    buffer_clear(&key);
    ck_assert_int_eq(certificate_print(&made, &certs, &key, &err), 0);
    write_at(CERTIFICATE_OWN, certs.data, certs.size, 0644);
    write_at(CERTIFICATE_OWN_KEY, key.data, key.size, 0600);
}

static void
leave_half_a_pair(void)
{
    write_at(CERTIFICATE_NEW_KEY, "half", 4, 0600);
}

static const struct {
    void (*spoil)(void);
    bool kept;
} spoilers[] = {
    {spoil_nothing, true}, {leave_half_a_pair, true}, {spoil_cert, false},
    {spoil_key, false},    {empty_key, false},        {remove_key, false},
    {open_key, false},     {link_key, false},         {symlink_key, false},
    {expire, false},
};

START_TEST(the_nodes_own_is_made_again_when_it_is_of_no_use)
{
    struct certificate first, second, third;
    struct error err;

    ck_assert_int_eq(certificate_own(&first, dir, "", &note, &err), 0);
    spoilers[_i].spoil();
    ck_assert_int_eq(certificate_own(&second, dir, "", &note, &err), 0);
    ck_assert((X509_cmp(first.leaf, second.leaf) == 0) == spoilers[_i].kept);
    ck_assert_uint_eq(mode_of(CERTIFICATE_OWN_KEY), S_IFREG | 0600);
    ck_assert_int_eq(certificate_own(&third, dir, "", &note, &err), 0);
    ck_assert_int_eq(X509_cmp(second.leaf, third.leaf), 0);
    certificate_fini(&first);
    certificate_fini(&second);
    certificate_fini(&third);
}
END_TEST

static int
read_both(struct certificate *out, struct error *err)
{
    char cert_path[128], key_path[128];

    snprintf(cert_path, sizeof(cert_path), "%s/c.pem", directory);
    snprintf(key_path, sizeof(key_path), "%s/k.pem", directory);
    return certificate_read(out, cert_path, key_path, &note, err);
}

START_TEST(a_named_key_must_be_private)
{
    static const mode_t modes[] = {0600, 0400, 0604, 0606, 0660, 0620};
    struct certificate c;
    struct error err;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        write_at("c.pem", certs.data, certs.size, 0644);
        write_at("k.pem", key.data, key.size, 0600);
        ck_assert_int_eq(fchmodat(dir, "k.pem", modes[i], 0), 0);
        if (modes[i] & 077) {
            ck_assert_int_eq(read_both(&c, &err), -1);
            ck_assert_ptr_nonnull(strstr(err.text, "chmod 600"));
        } else {
            ck_assert_int_eq(read_both(&c, &err), 0);
            certificate_fini(&c);
        }
        unlinkat(dir, "k.pem", 0);
    }
}
END_TEST

START_TEST(a_named_file_that_is_wrong_is_named)
{
    struct certificate c;
    struct error err;

    write_at("k.pem", key.data, key.size, 0600);
    ck_assert_int_eq(read_both(&c, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "c.pem: cannot be opened"));
    write_at("c.pem", "junk", 4, 0644);
    ck_assert_int_eq(read_both(&c, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "holds no certificate"));
    unlinkat(dir, "c.pem", 0);
    ck_assert_int_eq(mkfifoat(dir, "c.pem", 0644), 0);
    ck_assert_int_eq(read_both(&c, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "is not a regular file"));
    unlinkat(dir, "c.pem", 0);
    write_at("real.pem", certs.data, certs.size, 0644);
    ck_assert_int_eq(symlinkat("real.pem", dir, "c.pem"), 0);
    ck_assert_int_eq(read_both(&c, &err), 0);
    certificate_fini(&c);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("certificate");
    TCase *tc = tcase_create("certificate");

    tcase_set_timeout(tc, 60); /* OpenSSL looks long at what is no key */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_made_is_self_signed_and_good_for_years);
    tcase_add_test(tc, a_strange_name_or_no_address_is_left_out);
    tcase_add_test(tc, what_is_printed_is_read_and_cut_anywhere_refused);
    tcase_add_test(tc, a_chain_is_kept_and_has_a_ceiling);
    tcase_add_test(tc, anothers_key_and_an_encrypted_one_are_refused);
    tcase_add_test(tc, the_nodes_own_is_made_once);
    tcase_add_loop_test(tc, the_nodes_own_is_made_again_when_it_is_of_no_use, 0,
                        sizeof(spoilers) / sizeof(spoilers[0]));
    tcase_add_test(tc, a_named_key_must_be_private);
    tcase_add_test(tc, a_named_file_that_is_wrong_is_named);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
