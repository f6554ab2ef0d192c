# embed.cmake - a text file as a C array: cmake -DIN= -DOUT= -DNAME= -P
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){12})" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUT}" "/* Made from a file by embed.cmake. */
#include \"${NAME}.h\"

const char ${NAME}[] = {
    ${bytes}0x00};
const size_t ${NAME}_size = sizeof(${NAME}) - 1;
")
