/* parsing.h - what a parser is given beside the text. */
#ifndef HW_PARSING_H
#define HW_PARSING_H

struct arena;
struct sql_parameters;
struct sql_session;

enum parameter_use {
    PARAMETERS_NONE,   /* a ? is a syntax error */
    PARAMETERS_ABSENT, /* each ? is counted and has no value */
    PARAMETERS_GIVEN
};

struct parsing {
    struct arena *arena;
    enum parameter_use use;
    const struct sql_parameters
        *parameters; /* for PARAMETERS_GIVEN; borrowed to the end */
    /* Gives the values of @names, and sql_mode; or NULL. */
    const struct sql_session *session;
};

#endif
