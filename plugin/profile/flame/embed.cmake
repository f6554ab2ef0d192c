# embed.cmake - text files, one after the other, as a C array:
# cmake -DIN=FILE,... -DOUT= -DNAME= -DHEADER= -P
string(REPLACE "," ";" files "${IN}")
set(bytes "")
foreach(file ${files})
    file(READ "${file}" more HEX)
    string(APPEND bytes "${more}")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){12})" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUT}" "/* Made from files by embed.cmake. */
#include \"${HEADER}\"

const char ${NAME}[] = {
    ${bytes}0x00};
const size_t ${NAME}_size = sizeof(${NAME}) - 1;
")
