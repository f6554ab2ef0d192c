/*
 * collate_weights.c - the weights of utf8mb4_general_ci.
 *
 * They are MySQL's, as WEIGHT_STRING() gives them for each character up to
 * U+FFFF; dialect.py compares all of them with a server's.
 */
#include <stddef.h>
#include <uchar.h>

#include "collate.h"

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

unsigned
collate_weight(unsigned c)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        if (c <= blocks[i].last)
            return c < blocks[i].first ? c
                                       : blocks[i].weights[c - blocks[i].first];
    return c;
}
