/* collate.c - see collate.h. */
#include "collate.h"

#include <string.h>
#include <uchar.h>

#include "buffer.h"

enum {
    WEIGHT_SUPPLEMENTARY = 0xfffd,
    WEIGHT_BROKEN = 0xd800 /* plus the byte; no character has it */
};

/*
 * The weights of utf8mb4_general_ci are MySQL's, as WEIGHT_STRING() gives them
 * for each character up to U+FFFF; dialect.py compares all of them with a
 * server's.
 */

/* Of the characters from first to last; those outside weigh what they are. */
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
weight_of(unsigned c)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (c <= blocks[i].last)
            return c < blocks[i].first ? c
                                       : blocks[i].weights[c - blocks[i].first];
    return c;
}

/* Decodes the character; 0: it is no UTF-8. */
static size_t
decode(const unsigned char *p, size_t size, unsigned *out)
{
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
        size = decode(p, text->size, &c);
        if (size == 0)
            weight = WEIGHT_BROKEN + c;
        else
            weight = c > 0xffff ? WEIGHT_SUPPLEMENTARY : weight_of(c);
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
