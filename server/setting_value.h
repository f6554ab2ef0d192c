/*
 * setting_value.h - how values of settings are read, and those of [snapshots].
 *
 * For setting.c and its parts; others include setting.h.
 */
#ifndef HW_SETTING_VALUE_H
#define HW_SETTING_VALUE_H

#include <stdint.h>
#include <stdio.h>

struct config;
struct error;

/* What is allowed instead: always -1. */
int setting_wrong(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Digits alone; -1: something else, or not within. */
int setting_number(const char *text, uint32_t min, uint32_t max, uint32_t *out);

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

/* In the form of setting_print. */
void setting_print_snapshots(const struct config *c, FILE *out);

#endif
