/*
 * tables_charset.c - character sets and collations that SET NAMES knows.
 */
#include <string.h>

#include "catalog_tables.h"
#include "rowset.h"

static const struct {
    const char *name, *collation, *description;
    int bytes;
} charsets[] = {
    {"ascii", "ascii_general_ci", "US ASCII", 1},
    {"binary", "binary", "Binary pseudo charset", 1},
    {"latin1", "latin1_swedish_ci", "cp1252 West European", 1},
    {"utf8mb3", "utf8mb3_general_ci", "UTF-8 Unicode", 3},
    {"utf8mb4", "utf8mb4_general_ci", "UTF-8 Unicode", 4},
};

enum { CHARSETS = sizeof(charsets) / sizeof(charsets[0]) };

/* MySQL's numbers; .NET and PHP clients look for some of them. */
static const struct {
    const char *name, *charset;
    int id, sort_length;
    bool pads;
} collations[] = {
    {"ascii_bin", "ascii", 65, 1, true},
    {"ascii_general_ci", "ascii", 11, 1, true},
    {"binary", "binary", 63, 1, false},
    {"latin1_bin", "latin1", 47, 1, true},
    {"latin1_general_ci", "latin1", 48, 1, true},
    {"latin1_general_cs", "latin1", 49, 1, true},
    {"latin1_swedish_ci", "latin1", 8, 1, true},
    {"utf8mb3_bin", "utf8mb3", 83, 1, true},
    {"utf8mb3_general_ci", "utf8mb3", 33, 1, true},
    {"utf8mb3_unicode_520_ci", "utf8mb3", 214, 8, true},
    {"utf8mb3_unicode_ci", "utf8mb3", 192, 8, true},
    {"utf8mb4_0900_ai_ci", "utf8mb4", 255, 0, false},
    {"utf8mb4_0900_as_ci", "utf8mb4", 305, 0, false},
    {"utf8mb4_0900_as_cs", "utf8mb4", 278, 0, false},
    {"utf8mb4_0900_bin", "utf8mb4", 309, 1, false},
    {"utf8mb4_bin", "utf8mb4", 46, 1, true},
    {"utf8mb4_general_ci", "utf8mb4", 45, 1, true},
    {"utf8mb4_unicode_520_ci", "utf8mb4", 246, 8, true},
    {"utf8mb4_unicode_ci", "utf8mb4", 224, 8, true},
};

enum { COLLATIONS = sizeof(collations) / sizeof(collations[0]) };

static bool
is_default(const char *collation)
{
    for (size_t i = 0; i < CHARSETS; i++)
        if (strcmp(charsets[i].collation, collation) == 0)
            return true;
    return false;
}

static void
produce_show_charsets(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < CHARSETS; i++) {
        ROWSET_TEXTS(out, charsets[i].name, charsets[i].description,
                     charsets[i].collation);
        rowset_int(out, charsets[i].bytes);
    }
}

static const struct catalog_column show_charsets[] = {
    {"Charset", &type_name_nn},
    {"Description", &type_2048_nn},
    {"Default collation", &type_name_nn},
    {"Maxlen", &type_uint_nn},
};

static void
produce_charsets(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < CHARSETS; i++) {
        ROWSET_TEXTS(out, charsets[i].name, charsets[i].collation,
                     charsets[i].description);
        rowset_int(out, charsets[i].bytes);
    }
}

static const struct catalog_column schema_charsets[] = {
    {"CHARACTER_SET_NAME", &type_name_nn},
    {"DEFAULT_COLLATE_NAME", &type_name_nn},
    {"DESCRIPTION", &type_2048_nn},
    {"MAXLEN", &type_uint_nn},
};

static void
produce_collations(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < COLLATIONS; i++) {
        rowset_text(out, collations[i].name);
        rowset_text(out, collations[i].charset);
        rowset_int(out, collations[i].id);
        rowset_text(out, is_default(collations[i].name) ? "Yes" : "");
        rowset_text(out, "Yes");
        rowset_int(out, collations[i].sort_length);
        rowset_text(out, collations[i].pads ? "PAD SPACE" : "NO PAD");
    }
}

static const struct catalog_column show_collations[] = {
    {"Collation", &type_name_nn},     {"Charset", &type_name_nn},
    {"Id", &type_ubigint_nn},         {"Default", &type_yes_no_nn},
    {"Compiled", &type_yes_no_nn},    {"Sortlen", &type_uint_nn},
    {"Pad_attribute", &type_word_nn},
};

static const struct catalog_column schema_collations[] = {
    {"COLLATION_NAME", &type_name_nn}, {"CHARACTER_SET_NAME", &type_name_nn},
    {"ID", &type_ubigint_nn},          {"IS_DEFAULT", &type_yes_no_nn},
    {"IS_COMPILED", &type_yes_no_nn},  {"SORTLEN", &type_uint_nn},
    {"PAD_ATTRIBUTE", &type_word_nn},
};

static void
produce_applicability(const struct catalog_scope *scope, struct rowset *out)
{
    (void)scope;
    for (size_t i = 0; i < COLLATIONS; i++) {
        rowset_text(out, collations[i].name);
        rowset_text(out, collations[i].charset);
    }
}

static const struct catalog_column applicability[] = {
    {"COLLATION_NAME", &type_name_nn},
    {"CHARACTER_SET_NAME", &type_name_nn},
};

const struct catalog_table tables_charset[] = {
    {CATALOG_HIDDEN, "character_set", CATALOG_COLUMNS(show_charsets),
     produce_show_charsets},
    {"information_schema", "CHARACTER_SETS", CATALOG_COLUMNS(schema_charsets),
     produce_charsets},
    {CATALOG_HIDDEN, "collation", CATALOG_COLUMNS(show_collations),
     produce_collations},
    {"information_schema", "COLLATIONS", CATALOG_COLUMNS(schema_collations),
     produce_collations},
    {"information_schema", "COLLATION_CHARACTER_SET_APPLICABILITY",
     CATALOG_COLUMNS(applicability), produce_applicability},
    {NULL},
};
