/* text_value.h - a value as text rows encode it: ProtocolText::ResultsetRow. */
#ifndef HW_TEXT_VALUE_H
#define HW_TEXT_VALUE_H

struct buffer;
struct value;

/* A length and a text, or the byte that stands for NULL. */
void text_value_put(struct buffer *out, const struct value *value);

#endif
