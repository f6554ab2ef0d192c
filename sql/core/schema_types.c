/* schema_types.c - see schema_types.h. */
#include "schema_types.h"

#define NN COLUMN_NOT_NULL

const struct catalog_type type_bigint_nn = {"bigint", COLUMN_BIGINT, 20, NN};
const struct catalog_type type_ubigint_nn = {"bigint unsigned", COLUMN_BIGINT,
                                             20, COLUMN_UNSIGNED | NN};
const struct catalog_type type_int_nn = {"int", COLUMN_INT, 11, NN};
const struct catalog_type type_uint_nn = {"int unsigned", COLUMN_INT, 10,
                                          COLUMN_UNSIGNED | NN};
const struct catalog_type type_decimal_nn = {"decimal(9,6)", COLUMN_DECIMAL, 11,
                                             NN};
const struct catalog_type type_percent = {"decimal(5,2)", COLUMN_DECIMAL, 7, 0};
const struct catalog_type type_name_nn = {"varchar(64)", COLUMN_TEXT, 64, NN};
const struct catalog_type type_yes_no = {"varchar(3)", COLUMN_TEXT, 3, 0};
const struct catalog_type type_yes_no_nn = {"varchar(3)", COLUMN_TEXT, 3, NN};
const struct catalog_type type_word_nn = {"varchar(10)", COLUMN_TEXT, 10, NN};
const struct catalog_type type_version_nn = {"varchar(20)", COLUMN_TEXT, 20,
                                             NN};
const struct catalog_type type_short = {"varchar(80)", COLUMN_TEXT, 80, 0};
const struct catalog_type type_short_nn = {"varchar(80)", COLUMN_TEXT, 80, NN};
const struct catalog_type type_256 = {"varchar(256)", COLUMN_TEXT, 256, 0};
const struct catalog_type type_grantee = {"varchar(292)", COLUMN_TEXT, 292, 0};
const struct catalog_type type_grantee_nn = {"varchar(292)", COLUMN_TEXT, 292,
                                             NN};
const struct catalog_type type_512 = {"varchar(512)", COLUMN_TEXT, 512, 0};
const struct catalog_type type_512_nn = {"varchar(512)", COLUMN_TEXT, 512, NN};
const struct catalog_type type_2048_nn = {"varchar(2048)", COLUMN_TEXT, 2048,
                                          NN};
const struct catalog_type type_plain_text = {"text", COLUMN_LONGTEXT, 16383, 0};
const struct catalog_type type_plain_text_nn = {"text", COLUMN_LONGTEXT, 16383,
                                                NN};
const struct catalog_type type_mediumtext = {"mediumtext", COLUMN_LONGTEXT,
                                             65535, 0};
const struct catalog_type type_mediumtext_nn = {"mediumtext", COLUMN_LONGTEXT,
                                                65535, NN};
const struct catalog_type type_longtext_nn = {"longtext", COLUMN_LONGTEXT,
                                              65535, NN};
const struct catalog_type type_time_nn = {"datetime", COLUMN_DATETIME, 19, NN};
const struct catalog_type type_timestamp = {"timestamp", COLUMN_TIMESTAMP, 19,
                                            0};
const struct catalog_type type_timestamp_nn = {"timestamp", COLUMN_TIMESTAMP,
                                               19, NN};
