/*
 * schema_types.h - types that only MySQL's own tables have; nn means NOT NULL.
 *
 * catalog.c defines them.
 */
#ifndef HW_SCHEMA_TYPES_H
#define HW_SCHEMA_TYPES_H

#include "catalog.h"

extern const struct catalog_type type_bigint_nn;
extern const struct catalog_type type_ubigint_nn;
extern const struct catalog_type type_int_nn;
extern const struct catalog_type type_uint_nn;
extern const struct catalog_type type_decimal_nn;    /* decimal(9,6) */
extern const struct catalog_type type_percent;       /* decimal(5,2) */
extern const struct catalog_type type_name_nn;       /* varchar(64) */
extern const struct catalog_type type_yes_no;        /* varchar(3) */
extern const struct catalog_type type_yes_no_nn;     /* varchar(3) */
extern const struct catalog_type type_word_nn;       /* varchar(10) */
extern const struct catalog_type type_version_nn;    /* varchar(20) */
extern const struct catalog_type type_short;         /* varchar(80) */
extern const struct catalog_type type_short_nn;      /* varchar(80) */
extern const struct catalog_type type_256;           /* varchar(256) */
extern const struct catalog_type type_grantee;       /* varchar(292) */
extern const struct catalog_type type_grantee_nn;    /* varchar(292) */
extern const struct catalog_type type_512;           /* varchar(512) */
extern const struct catalog_type type_512_nn;        /* varchar(512) */
extern const struct catalog_type type_2048_nn;       /* varchar(2048) */
extern const struct catalog_type type_plain_text;    /* text */
extern const struct catalog_type type_plain_text_nn; /* text */
extern const struct catalog_type type_mediumtext;
extern const struct catalog_type type_mediumtext_nn;
extern const struct catalog_type type_longtext_nn;
extern const struct catalog_type type_time_nn; /* datetime */
extern const struct catalog_type type_timestamp;
extern const struct catalog_type type_timestamp_nn;

#endif
