/* tree_words.h - the keywords of a SELECT. */
#ifndef HW_TREE_WORDS_H
#define HW_TREE_WORDS_H

#include "lexer.h"

extern const char *const tree_reserved[]; /* ascending */
extern const size_t tree_reserved_count;

/* Whether the word can be no name unless it is quoted or behind a dot. */
bool tree_word_reserved(struct span word);
/* A word that is not reserved, or `quoted`. */
bool tree_is_name(const struct token *token);
/* Likewise, or any word: for what follows a dot. */
bool tree_may_name(const struct token *token);

bool tree_word_unit(const struct token *token); /* of an INTERVAL */
/* The type of a CAST as hw_cast names it; NULL: unknown. */
const char *tree_word_type(struct span word);

bool tree_at_query(const struct token *token); /* SELECT and its like */
bool tree_at_set(const struct token *token);   /* UNION, ... */

#endif
