/* utf8.c - see utf8.h. */
#include "utf8.h"

#include <locale.h>
#include <pthread.h>
#include <wctype.h>

#include "buffer.h"

size_t
utf8_prefix(struct span text, int64_t n)
{
    size_t i = 0;

    for (; i < text.size; i++)
        if (((unsigned char)text.data[i] & 0xc0) != 0x80) {
            if (n <= 0)
                break;
            n--;
        }
    return i;
}

int64_t
utf8_length(struct span text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.size; i++)
        n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return n;
}

/* A locale of glibc; without it, only ASCII's letters change case. */
static locale_t letters;

static void
find_letters(void)
{
    letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

/* Changes the case of a character of two bytes, which covers the scripts that
 * have cases. */
static void
add_two(struct buffer *out, const unsigned char *bytes, bool up)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    wint_t c = (wint_t)(bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f), changed = c;

    pthread_once(&once, find_letters);
    if (letters)
        changed = up ? towupper_l(c, letters) : towlower_l(c, letters);
    if (changed < 0x80 || changed >= 0x800)
        changed = c;
    buffer_char(out, (char)(0xc0 | changed >> 6));
    buffer_char(out, (char)(0x80 | (changed & 0x3f)));
}

void
utf8_add_case(struct buffer *out, const char *bytes, size_t size, bool up)
{
    unsigned char first = (unsigned char)*bytes;

    if (size == 1 && first >= (up ? 'a' : 'A') && first <= (up ? 'z' : 'Z'))
        buffer_char(out, (char)(first ^ 0x20));
    else if (size == 2 && first >= 0xc2 && first < 0xe0)
        add_two(out, (const unsigned char *)bytes, up);
    else
        buffer_add(out, bytes, size);
}
