/*
 * setting_value.h - reads and writes the value of one setting, as its row says.
 *
 * For setting.c, config_cluster.c and their parts; others include setting.h.
 */
#ifndef HW_SETTING_VALUE_H
#define HW_SETTING_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct config;
struct config_address;
struct error;

/* What a value looks like, and its field. */
enum setting_form {
    SETTING_NUMBER,  /* digits; uint32_t */
    SETTING_SECONDS, /* "90" or "15m"; uint32_t */
    SETTING_MS,      /* likewise; milliseconds in uint64_t */
    SETTING_BYTES,   /* "4096" or "1G"; uint64_t */
    SETTING_TRUTH,   /* the second of two words; bool */
    SETTING_WORD,    /* one of the words, an enum's */
    SETTING_PATH,    /* made absolute, or one of the words; char[] */
    SETTING_TEXT,    /* without control characters; char[] */
    SETTING_OTHER    /* set and print do it; without print: char[] */
};

struct setting {
    const char *key;    /* in [node]; or "SECTION.KEY" */
    const char *option; /* on the command line; NULL: the file alone has it */
    enum setting_form form;
    uint32_t field;       /* its offset in struct config */
    uint64_t least, most; /* of an amount; most is also the bytes of a text */
    const char *unit;     /* of a number: "of seconds"; or NULL */
    const char *such_as;  /* examples of an amount; what words are allowed */
    const char *zero; /* what 0 means, which is allowed below least, too; NULL:
                         it is not */
    const char *const *words; /* NULL ends them */
    int (*set)(struct config *config, const char *value, struct error *err);
    void (*print)(const struct config *config, FILE *out);
    bool reloadable;
    bool secret; /* its value is never repeated */
};

/* Puts the value into field, which is of the setting's type; not for
 * SETTING_OTHER.  -1 with *err, which says what is allowed. */
int setting_read(const struct setting *setting, const char *value, void *field,
                 struct error *err);
/* Prints key=value. */
void setting_write(const struct setting *setting, const struct config *config,
                   FILE *out);

/* Says what is allowed; always -1. */
int setting_wrong(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Digits alone; -1: something else, or not within. */
int setting_number(const char *text, uint32_t min, uint32_t max, uint32_t *out);
/* The word's index; -1: none of them. */
int setting_word(const char *const *words, const char *value);

/* "127.0.0.1:9036" or "[::1]:9036"; out gets it as inet_ntop writes it.  -1:
 * not such a text. */
int setting_address(const char *value, struct config_address *out);

/* setting_other.c; -1 with *err. */
int setting_set_listen(struct config *c, const char *value, struct error *err);
int setting_set_http(struct config *c, const char *value, struct error *err);
int setting_set_user(struct config *c, const char *value, struct error *err);
int setting_set_frames(struct config *c, const char *value, struct error *err);
int setting_set_budget(struct config *c, const char *value, struct error *err);
int setting_set_at_percent(struct config *c, const char *value,
                           struct error *err);
int setting_set_cluster_name(struct config *c, const char *value,
                             struct error *err);
int setting_set_secret(struct config *c, const char *value, struct error *err);
int setting_set_etcd(struct config *c, const char *value, struct error *err);
int setting_set_etcd_user(struct config *c, const char *value,
                          struct error *err);
int setting_set_etcd_password(struct config *c, const char *value,
                              struct error *err);
/* out has CONFIG_SECRET_MAX + 1 bytes. */
int setting_secret(const char *value, char *out, struct error *err);

void setting_print_listen(const struct config *c, FILE *out);
void setting_print_http(const struct config *c, FILE *out);
void setting_print_require_tls(const struct config *c, FILE *out);
void setting_print_budget(const struct config *c, FILE *out);
void setting_print_at_percent(const struct config *c, FILE *out);

extern const char *const setting_roles[]; /* by enum peer_role */

#endif
