/* test_auth.c - proofs of passwords, against a client's own arithmetic. */
#include <string.h>

#include <openssl/evp.h>

#include "auth.h"
#include "errors.h"
#include "suite.h"

static const uint8_t nonce[AUTH_NONCE + 1] = "abcdefghijklmnopqrst";

static struct verifier
verifier_of(const char *password)
{
    struct verifier v;

    ck_assert_int_eq(verifier_make(&v, span_of(password), NULL), 0);
    return v;
}

static void
hash(const EVP_MD *kind, const void *a, size_t a_size, const void *b,
     size_t b_size, uint8_t *out)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    EVP_DigestInit_ex(context, kind, NULL);
    EVP_DigestUpdate(context, a, a_size);
    EVP_DigestUpdate(context, b, b_size);
    EVP_DigestFinal_ex(context, out, NULL);
    EVP_MD_CTX_free(context);
}

/* What a client sends. */
static void
answer_native(const char *password, uint8_t *out)
{
    uint8_t once[20], twice[20], mask[20];

    hash(EVP_sha1(), password, strlen(password), "", 0, once);
    hash(EVP_sha1(), once, 20, "", 0, twice);
    hash(EVP_sha1(), nonce, AUTH_NONCE, twice, 20, mask);
    for (int i = 0; i < 20; i++)
        out[i] = once[i] ^ mask[i];
}

static void
answer_sha2(const char *password, uint8_t *out)
{
    uint8_t once[32], twice[32], mask[32];

    hash(EVP_sha256(), password, strlen(password), "", 0, once);
    hash(EVP_sha256(), once, 32, "", 0, twice);
    hash(EVP_sha256(), twice, 32, nonce, AUTH_NONCE, mask);
    for (int i = 0; i < 32; i++)
        out[i] = once[i] ^ mask[i];
}

static const struct {
    const char *password, *tried;
    bool valid;
} tries[] = {
    {"secret", "secret", true}, {"secret", "Secret", false},
    {"secret", "", false},      {"p\xc3\xa4sswort", "p\xc3\xa4sswort", true},
    {"secret", "secre", false}, {"x", "x", true},
};

START_TEST(the_right_password_alone_passes)
{
    struct verifier v = verifier_of(tries[_i].password);
    uint8_t sha1[20], sha2[32];

    answer_native(tries[_i].tried, sha1);
    answer_sha2(tries[_i].tried, sha2);
    ck_assert_int_eq(
        auth_check_native(&v, nonce, (struct span){(char *)sha1, 20}),
        tries[_i].valid);
    ck_assert_int_eq(
        auth_check_sha2(&v, nonce, (struct span){(char *)sha2, 32}),
        tries[_i].valid);
}
END_TEST

/* CVE-2012-2122: a comparison cut to one byte let 1 in 256 pass. */
START_TEST(no_last_byte_passes_but_the_right_one)
{
    struct verifier v = verifier_of("secret");
    uint8_t sha1[20], sha2[32];
    int passed = 0;

    answer_native("secret", sha1);
    answer_sha2("secret", sha2);
    for (int i = 0; i < 256; i++) {
        sha1[19]++;
        sha2[31]++;
        passed += auth_check_native(&v, nonce, (struct span){(char *)sha1, 20});
        passed += auth_check_sha2(&v, nonce, (struct span){(char *)sha2, 32});
    }
    ck_assert_int_eq(passed, 2); /* after 256 steps each is valid again */
    answer_native("wrong", sha1);
    answer_sha2("wrong", sha2);
    for (int i = 0; i < 256; i++) {
        sha1[19]++;
        sha2[31]++;
        ck_assert(
            !auth_check_native(&v, nonce, (struct span){(char *)sha1, 20}));
        ck_assert(!auth_check_sha2(&v, nonce, (struct span){(char *)sha2, 32}));
    }
}
END_TEST

START_TEST(answers_of_another_size_fail)
{
    struct verifier v = verifier_of("secret");
    uint8_t bytes[64];

    answer_native("secret", bytes);
    for (size_t size = 0; size < 64; size++)
        ck_assert_int_eq(
            auth_check_native(&v, nonce, (struct span){(char *)bytes, size}),
            size == 20);
    answer_sha2("secret", bytes);
    for (size_t size = 0; size < 64; size++)
        ck_assert_int_eq(
            auth_check_sha2(&v, nonce, (struct span){(char *)bytes, size}),
            size == 32);
}
END_TEST

START_TEST(another_nonce_is_another_answer)
{
    struct verifier v = verifier_of("secret");
    uint8_t other[AUTH_NONCE], sha1[20], sha2[32];

    memcpy(other, nonce, sizeof(other));
    other[0] ^= 1;
    answer_native("secret", sha1);
    answer_sha2("secret", sha2);
    ck_assert(!auth_check_native(&v, other, (struct span){(char *)sha1, 20}));
    ck_assert(!auth_check_sha2(&v, other, (struct span){(char *)sha2, 32}));
}
END_TEST

START_TEST(known_vectors)
{
    /* SELECT PASSWORD('secret') of MySQL 5.7; sha256sum twice */
    struct verifier v = verifier_of("secret");
    char text[AUTH_TEXT];

    ck_assert_int_eq(verifier_print(&v, text, sizeof(text)), 0);
    ck_assert_str_eq(
        text, "native+sha2 14e65567abdb5135d0cfd9a70b3032c179a49ee7 "
              "3881219d087dd9c634373fd33dfa33a2cb6bfc6c520b64b8bb60ef2ceb53"
              "4ae7");
}
END_TEST

START_TEST(a_verifier_reads_as_it_prints)
{
    struct verifier v = verifier_of("secret"), back;
    char text[AUTH_TEXT], small[20];

    for (int native = 0; native < 2; native++) {
        v.has_native = native;
        if (!native)
            memset(v.sha1, 0, sizeof(v.sha1));
        ck_assert_int_eq(verifier_print(&v, text, sizeof(text)), 0);
        ck_assert_int_eq(verifier_parse(&back, text, NULL), 0);
        ck_assert(back.has_native == v.has_native);
        ck_assert(memcmp(back.sha256, v.sha256, 32) == 0);
        v = verifier_of("secret");
    }
    ck_assert_int_eq(verifier_print(&v, small, sizeof(small)), -1);
}
END_TEST

#define HEX40 "0123456789abcdef0123456789ABCDEF01234567"
#define HEX64 HEX40 "0123456789abcdef01234567"

static const struct {
    const char *text;
    bool valid;
} texts[] = {
    {"sha2 " HEX64, true},
    {"native+sha2 " HEX40 " " HEX64, true},
    {"native+sha2\t" HEX40 "  " HEX64 " ", true},
    {"", false},
    {"sha2", false},
    {"sha2 ", false},
    {"sha2 " HEX40, false},
    {"sha2 " HEX64 "0", false},
    {"sha2 " HEX64 " x", false},
    {"sha2" HEX64, false},
    {"native " HEX40, false},
    {"native+sha2 " HEX64 " " HEX40, false},
    {"native+sha2 " HEX40 HEX64, false},
    {"sha2 g" HEX40 "0123456789abcdef0123456", false},
    {"plain secret", false},
};

START_TEST(verifiers_are_parsed_strictly)
{
    struct verifier v;
    struct error err;

    ck_assert_int_eq(verifier_parse(&v, texts[_i].text, &err),
                     texts[_i].valid ? 0 : -1);
}
END_TEST

START_TEST(a_sha2_user_never_passes_natively)
{
    struct verifier v = verifier_of("secret");
    uint8_t sha1[20];

    v.has_native = false;
    answer_native("secret", sha1);
    ck_assert(!auth_check_native(&v, nonce, (struct span){(char *)sha1, 20}));
}
END_TEST

/* hashlib: sha256(sha1(sha1(b"secret").digest()).digest() +
 * b"abcdefghijklmnopqrst" + bytes(range(32))).hexdigest().upper() */
START_TEST(the_fingerprint_is_mariadbs)
{
    static const char expected[] =
        "21D5C9B1766DD96C58C43A45C5943FBB2A13E4B39AAAE1C529B2CD362FA54D52";
    struct verifier v = verifier_of("secret");
    uint8_t certificate[AUTH_SHA256];
    char found[AUTH_FINGERPRINT];

    for (size_t i = 0; i < sizeof(certificate); i++)
        certificate[i] = (uint8_t)i;
    ck_assert_int_eq(auth_fingerprint(&v,
                                      (const uint8_t *)"abcdefghijklmnopqrst",
                                      certificate, found),
                     0);
    ck_assert_str_eq(found, expected);
}
END_TEST

START_TEST(nonces_are_ascii_and_differ)
{
    uint8_t a[AUTH_NONCE], b[AUTH_NONCE];

    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(auth_nonce(a, NULL), 0);
        ck_assert_int_eq(auth_nonce(b, NULL), 0);
        ck_assert(memcmp(a, b, sizeof(a)) != 0);
        for (size_t j = 0; j < sizeof(a); j++)
            ck_assert(a[j] >= 1 && a[j] <= 127);
    }
}
END_TEST

START_TEST(an_unknown_user_gets_a_stable_salt)
{
    uint8_t secret[AUTH_SHA256] = {1};
    struct verifier a, b, c;

    ck_assert_int_eq(verifier_fake(&a, secret, span_of("eve"), NULL), 0);
    ck_assert_int_eq(verifier_fake(&b, secret, span_of("eve"), NULL), 0);
    ck_assert_int_eq(verifier_fake(&c, secret, span_of("eva"), NULL), 0);
    ck_assert(memcmp(a.sha256, b.sha256, 32) == 0);
    ck_assert(memcmp(a.sha256, c.sha256, 32) != 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("auth");
    TCase *tc = tcase_create("auth");

    tcase_add_loop_test(tc, the_right_password_alone_passes, 0,
                        sizeof(tries) / sizeof(tries[0]));
    tcase_add_test(tc, no_last_byte_passes_but_the_right_one);
    tcase_add_test(tc, answers_of_another_size_fail);
    tcase_add_test(tc, another_nonce_is_another_answer);
    tcase_add_test(tc, known_vectors);
    tcase_add_test(tc, the_fingerprint_is_mariadbs);
    tcase_add_test(tc, a_verifier_reads_as_it_prints);
    tcase_add_loop_test(tc, verifiers_are_parsed_strictly, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_test(tc, a_sha2_user_never_passes_natively);
    tcase_add_test(tc, nonces_are_ascii_and_differ);
    tcase_add_test(tc, an_unknown_user_gets_a_stable_salt);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
