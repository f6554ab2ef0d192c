/*
 * collate.c - compares texts as MySQL's utf8mb4_general_ci does; LIKE, and the
 * case of letters.
 *
 * SELECT must sort, group and join as MySQL would, so the weights are MySQL's
 * own: a table of blocks, since glibc's and ICU's collations order otherwise
 * and depend on what is installed.  Most texts here are ASCII (names of
 * functions), so every loop has a path for two ASCII bytes that needs no
 * table.  A comparison allocates nothing and is linear; the SELECT's thread
 * calls it, for each pair that SQLite sorts.
 *
 * LIKE does not recur: it remembers only the last % and retries behind it, so
 * that a pattern like %a%a%a% takes text times pattern steps at worst, and not
 * exponentially many.
 */
#include "collate.h"

#include <locale.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <uchar.h>
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

/* A locale of glibc; without it, only ASCII's letters change case.  The
 * process's own locale is not used: it is "C" as long as nobody calls
 * setlocale(), which a library must not. */
static locale_t letters;

static void
find_letters(void)
{
    letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

/* Changes the case of a character of two bytes, U+0080 to U+07FF: Latin,
 * Greek, Cyrillic, Armenian.  One whose other case has another length (the
 * dotless i) stays, so that a text keeps its size. */
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

/* Bytes of the character at p. */
static size_t
like_character_size(const char *p, const char *end)
{
    size_t size = 1;

    while (p + size < end && ((unsigned char)p[size] & 0xc0) == 0x80)
        size++;
    return size;
}

/* Matches one character of the pattern; false leaves both positions
 * unchanged. */
static bool
match_one(const char **text, const char *text_end, const char **pattern,
          const char *pattern_end, char escape, bool binary)
{
    const char *p = *pattern;
    struct span left, right;

    if (*p == '_') {
        *text += like_character_size(*text, text_end);
        *pattern = p + 1;
        return true;
    }
    if (*p == escape && p + 1 < pattern_end)
        p++;
    if (binary || collate_is_ascii(*p, **text)) {
        if (binary ? *p != **text : collate_ascii(*p) != collate_ascii(**text))
            return false;
        *text += 1;
        *pattern = p + 1;
        return true;
    }
    left = (struct span){*text, (size_t)(text_end - *text)};
    right = (struct span){p, (size_t)(pattern_end - p)};
    if (collate_take(&left) != collate_take(&right))
        return false;
    *text = left.data;
    *pattern = right.data;
    return true;
}

static bool
match_like_pattern(struct span text, struct span pattern, char escape,
                   bool binary)
{
    const char *t = text.data, *t_end = t + text.size;
    const char *p = pattern.data, *p_end = p + pattern.size;
    const char *retry_t = NULL,
               *retry_p = NULL; /* where to go on if what follows the last %
                                 * does not match */

    if (pattern.size > LIKE_PATTERN_MAX)
        return false;
    while (t < t_end) {
        if (p < p_end && *p == '%') {
            retry_p = ++p;
            retry_t = t;
            continue;
        }
        if (p < p_end && match_one(&t, t_end, &p, p_end, escape, binary))
            continue;
        if (!retry_p)
            return false;
        /* The last % takes one character more.  Earlier ones need no retry:
         * what stands between two % is best matched as early as it can be. */
        retry_t += like_character_size(retry_t, t_end);
        t = retry_t;
        p = retry_p;
    }
    while (p < p_end && *p == '%')
        p++;
    return p == p_end;
}

bool
like_match(struct span text, struct span pattern, char escape)
{
    return match_like_pattern(text, pattern, escape, false);
}

bool
like_match_binary(struct span text, struct span pattern, char escape)
{
    return match_like_pattern(text, pattern, escape, true);
}

enum {
    WEIGHT_SUPPLEMENTARY = 0xfffd,
    WEIGHT_BROKEN = 0xd800 /* plus the byte: surrogates are no characters, so
                            * no character weighs as much */
};

/*
 * The weights of utf8mb4_general_ci are MySQL's, as WEIGHT_STRING() gives them
 * for each character up to U+FFFF; dialect.py compares all of them with a
 * server's.
 */

/* The weights of the characters from first to last, ascending; a character
 * outside of all blocks weighs its own code point. */
static const struct {
    unsigned first, last;
    const char16_t *weights;
} blocks[] = {
    {0x00b5, 0x0233,
     u"Μ\u00b6\u00b7¸\u00b9º\u00bb\u00bc\u00bd\u00be\u00bfAAAAAAÆCEEEEIII"
     u"IÐNOOOOO×ØUUUUYÞSAAAAAAÆCEEEEIIIIÐNOOOOO÷ØUUUUYÞYAAAAAACCCCCCCCDDĐ"
     u"ĐEEEEEEEEEEGGGGGGGGHHĦĦIIIIIIIIIIĲĲJJKKĸLLLLLLĿĿŁŁNNNNNNŉŊŊOOOOOOŒ"
     u"ŒRRRRRRSSSSSSSSTTTTŦŦUUUUUUUUUUUUWWYYYZZZZZZSƀƁƂƂƄƄƆƇƇƉƊƋƋƍƎƏƐƑƑƓƔ"
     u"ǶƖƗƘƘƚƛƜƝƞƟOOƢƢƤƤƦƧƧƩƪƫƬƬƮUUƱƲƳƳƵƵƷƸƸƺƻƼƼƾǷǀǁǂǃǄǄǄǇǇǇǊǊǊAAIIOOUUUU"
     u"UUUUUUƎAAAAÆÆǤǤGGKKOOOOƷƷJǱǱǱGGǶǷNNAAÆÆØØAAAAEEEEIIIIOOOORRRRUUUUS"
     u"STTȜȜHHȠȡȢȢȤȤAAEEOOOOOOOOYY"},
    {0x0253, 0x0292,
     u"ƁƆɕƉƊɘƏɚƐɜɝɞɟƓɡɢƔɤɥɦɧƗƖɪɫɬɭɮƜɰɱƝɳɴƟɶɷɸɹɺɻɼɽɾɿƦʁʂƩʄʅʆʇƮʉƱƲʌʍʎʏʐʑƷ"},
    {0x0345, 0x0345, u"Ι"},
    {0x0386, 0x0390, u"Α\u0387ΕΗΙ\u038bΟ\u038dΥΩΙ"},
    {0x03aa, 0x040e,
     u"ΙΥΑΕΗΙΥΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΣΤΥΦΧΨΩΙΥΟΥΩϏΒΘϒϒϒΦΠϗϘϙϚϚϜϜϞϞϠϠϢϢϤϤϦϦϨϨϪϪ"
     u"ϬϬϮϮΚΡΣϳϴϵ϶ϷϸϹϺϻϼϽϾϿЕЕЂГЄЅІІЈЉЊЋКИУ"},
    {0x0430, 0x04f9,
     u"АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЕЕЂГЄЅІІЈЉЊЋКИУЏѠѠѢѢѤѤѦѦѨѨѪѪѬѬѮѮѰѰ"
     u"ѲѲѴѴѴѴѸѸѺѺѼѼѾѾҀҀ҂\u0483\u0484\u0485\u0486\u0487\u0488\u0489ҊҋҌҌҎҎҐ"
     u"ҐҒҒҔҔҖҖҘҘҚҚҜҜҞҞҠҠҢҢҤҤҦҦҨҨҪҪҬҬҮҮҰҰҲҲҴҴҶҶҸҸҺҺҼҼҾҾӀЖЖӃӃӅӆӇӇӉӊӋӋӍӎӏААА"
     u"АӔӔЕЕӘӘӘӘЖЖЗЗӠӠИИИИООӨӨӨӨЭЭУУУУУУЧЧӶӷЫЫ"},
    {0x0561, 0x0586, u"ԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ"},
    {0x1e00, 0x1ffc,
     u"AABBBBBBCCDDDDDDDDDDEEEEEEEEEEFFGGHHHHHHHHHHIIIIKKKKKKLLLLLLLLMMMM"
     u"MMNNNNNNNNOOOOOOOOPPPPRRRRRRRRSSSSSSSSSSTTTTTTTTUUUUUUUUUUVVVVWWWW"
     u"WWWWWWXXXXYYZZZZZZHTWYẚSẜẝẞẟAAAAAAAAAAAAAAAAAAAAAAAAEEEEEEEEEEEEEE"
     u"EEIIIIOOOOOOOOOOOOOOOOOOOOOOOOUUUUUUUUUUUUUUYYYYYYYYỺỻỼỽỾỿΑΑΑΑΑΑΑΑ"
     u"ΑΑΑΑΑΑΑΑΕΕΕΕΕΕ\u1f16\u1f17ΕΕΕΕΕΕ\u1f1e\u1f1fΗΗΗΗΗΗΗΗΗΗΗΗΗΗΗΗΙΙΙΙΙΙ"
     u"ΙΙΙΙΙΙΙΙΙΙΟΟΟΟΟΟ\u1f46\u1f47ΟΟΟΟΟΟ\u1f4e\u1f4fΥΥΥΥΥΥΥΥ\u1f58Υ"
     u"\u1f5aΥ\u1f5cΥ\u1f5eΥΩΩΩΩΩΩΩΩΩΩΩΩΩΩΩΩΑΆΕΈΗΉΙΊΟΌΥΎΩΏ\u1f7e\u1f7fΑΑΑ"
     u"ΑΑΑΑΑΑΑΑΑΑΑΑΑΗΗΗΗΗΗΗΗΗΗΗΗΗΗΗΗΩΩΩΩΩΩΩΩΩΩΩΩΩΩΩΩΑΑΑΑΑ\u1fb5ΑΑΑΑΑΆΑ"
     u"\u1fbdΙ\u1fbf\u1fc0\u1fc1ΗΗΗ\u1fc5ΗΗΕΈΗΉΗ\u1fcd\u1fce\u1fcfΙΙΙΐ"
     u"\u1fd4\u1fd5ΙΙΙΙΙΊ\u1fdc\u1fdd\u1fde\u1fdfΥΥΥΰΡΡΥΥΥΥΥΎΡ\u1fed"
     u"\u1fee\u1fef\u1ff0\u1ff1ΩΩΩ\u1ff5ΩΩΟΌΩΏΩ"},
    {0x2170, 0x217f, u"ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯ"},
    {0x24d0, 0x24e9, u"ⒶⒷⒸⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏ"},
    {0xff41, 0xff5a, u"ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ"},
};

static unsigned
character_weight(unsigned c)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (c <= blocks[i].last)
            return c < blocks[i].first ? c
                                       : blocks[i].weights[c - blocks[i].first];
    return c;
}

/* Decodes the character; 0: it is no UTF-8. */
static size_t
decode_collated_character(const unsigned char *p, size_t size, unsigned *out)
{
    /* By the number of bytes: a longer form than needed is no UTF-8, else one
     * character would have several spellings. */
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    unsigned c = *p & (0x7fU >> bytes);

    if (bytes == 0 || *p > 0xf4 || bytes > size)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[bytes] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return 0;
    *out = c;
    return bytes;
}

unsigned
collate_take(struct span *text)
{
    const unsigned char *p = (const unsigned char *)text->data;
    unsigned c = *p, weight = c;
    size_t size = 1;

    if (c >= 'a' && c <= 'z') {
        weight = c - ('a' - 'A');
    } else if (c >= 0x80) {
        size = decode_collated_character(p, text->size, &c);
        if (size == 0)
            weight = WEIGHT_BROKEN + c;
        else
            weight = c > 0xffff ? WEIGHT_SUPPLEMENTARY : character_weight(c);
        size += size == 0;
    }
    text->data += size;
    text->size -= size;
    return weight;
}

struct span
collate_trimmed(struct span text)
{
    while (text.size > 0 && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

int
collate_compare(struct span a, struct span b)
{
    struct span rest;

    while (a.size > 0 && b.size > 0) {
        unsigned x, y;

        if (collate_is_ascii(*a.data, *b.data)) {
            x = collate_ascii(*a.data++);
            y = collate_ascii(*b.data++);
            a.size--;
            b.size--;
        } else {
            x = collate_take(&a);
            y = collate_take(&b);
        }
        if (x != y)
            return x < y ? -1 : 1;
    }
    /* The longer text goes on.  Blanks at its end do not count; a character
     * below a blank makes it the smaller one, as if the shorter text was
     * filled with blanks. */
    rest = a.size > 0 ? a : b;
    while (rest.size > 0) {
        unsigned x = collate_take(&rest);

        if (x != ' ')
            return (x < ' ') == (a.size > 0) ? -1 : 1;
    }
    return 0;
}

int
collate_compare_bin(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    struct span rest = a.size > b.size ? a : b;

    if (order)
        return order;
    for (size_t i = size; i < rest.size; i++)
        if (rest.data[i] != ' ')
            return ((unsigned char)rest.data[i] < ' ') == (a.size > b.size) ? -1
                                                                            : 1;
    return 0;
}

void
collate_add_weights(struct buffer *out, struct span text)
{
    while (text.size > 0) {
        unsigned weight = collate_take(&text);

        buffer_char(out, (char)(weight >> 8));
        buffer_char(out, (char)weight);
    }
}
