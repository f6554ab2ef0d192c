/*
 * setting_value.h - reads the values of settings; and the settings of the
 * database's start, of [snapshots] and of [cluster].
 *
 * For setting.c, config_cluster.c and their parts; others include setting.h.
 */
#ifndef HW_SETTING_VALUE_H
#define HW_SETTING_VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "peers.h"

struct config;
struct config_address;
struct error;

/* Says what is allowed; always -1. */
int setting_wrong(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Digits alone; -1: something else, or not within. */
int setting_number(const char *text, uint32_t min, uint32_t max, uint32_t *out);

/* "127.0.0.1:9036" or "[::1]:9036"; out gets it as inet_ntop writes it.  -1:
 * not such a text. */
int setting_address(const char *value, struct config_address *out);
/* Made absolute; out has CONFIG_PATH_MAX bytes, of which max are used.  -1 with
 * *err. */
int setting_path(char *out, size_t max, const char *value, struct error *err);

/* setting_database.c; -1 with *err. */
int setting_set_exe(struct config *c, const char *value, struct error *err);
int setting_set_jemalloc(struct config *c, const char *value,
                         struct error *err);
int setting_set_profiling(struct config *c, const char *value,
                          struct error *err);
int setting_set_allocator(struct config *c, const char *value,
                          struct error *err);
int setting_set_mallctl(struct config *c, const char *value, struct error *err);
int setting_set_process(struct config *c, const char *value, struct error *err);
int setting_set_start_timeout(struct config *c, const char *value,
                              struct error *err);
void setting_default_database(struct config *c);

/* setting_snapshots.c; -1 with *err. */
int setting_set_keep(struct config *c, const char *value, struct error *err);
int setting_set_keep_bytes(struct config *c, const char *value,
                           struct error *err);
int setting_set_keep_age(struct config *c, const char *value,
                         struct error *err);
int setting_set_at_percent(struct config *c, const char *value,
                           struct error *err);
int setting_set_growth(struct config *c, const char *value, struct error *err);
int setting_set_every(struct config *c, const char *value, struct error *err);
int setting_set_min_interval(struct config *c, const char *value,
                             struct error *err);

/* setting_cluster.c; -1 with *err. */
int setting_set_cluster_name(struct config *c, const char *value,
                             struct error *err);
int setting_set_secret(struct config *c, const char *value, struct error *err);
int setting_set_secret_file(struct config *c, const char *value,
                            struct error *err);
int setting_set_connect_timeout(struct config *c, const char *value,
                                struct error *err);
int setting_set_role(struct config *c, const char *value, struct error *err);
int setting_set_etcd(struct config *c, const char *value, struct error *err);
int setting_set_etcd_ttl(struct config *c, const char *value,
                         struct error *err);
int setting_set_etcd_cacert(struct config *c, const char *value,
                            struct error *err);
int setting_set_etcd_cert(struct config *c, const char *value,
                          struct error *err);
int setting_set_etcd_key(struct config *c, const char *value,
                         struct error *err);
int setting_set_etcd_user(struct config *c, const char *value,
                          struct error *err);
int setting_set_etcd_password(struct config *c, const char *value,
                              struct error *err);
/* out has CONFIG_SECRET_MAX + 1 bytes. */
int setting_secret(const char *value, char *out, struct error *err);
int setting_role(const char *value, enum peer_role *out, struct error *err);

/* In the form of setting_print. */
void setting_print_database(const struct config *c, FILE *out);
void setting_print_snapshots(const struct config *c, FILE *out);
void setting_print_cluster(const struct config *c, FILE *out);

#endif
