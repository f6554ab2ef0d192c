# embed.cmake - text files, one after the other, as a C array, without the
# indentation and the lines that are comments (//), which nobody need send:
# of Markdown all that there is:
# cmake -DIN=FILE,... -DOUT= -DNAME= -DHEADER= -P
string(REPLACE "," ";" files "${IN}")
set(text "\n")
foreach(file ${files})
    file(READ "${file}" more)
    string(APPEND text "${more}")
endforeach()
if(NOT IN MATCHES "[.]md$")
    string(REGEX REPLACE "\n +" "\n" text "${text}")
    string(REGEX REPLACE "\n(//[^\n]*\n|\n)+" "\n" text "${text}")
endif()
string(SUBSTRING "${text}" 1 -1 text)
string(HEX "${text}" bytes)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){12})" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUT}" "/* Made from files by embed.cmake. */
#include \"${HEADER}\"

const char ${NAME}[] = {
    ${bytes}0x00};
const size_t ${NAME}_size = sizeof(${NAME}) - 1;
")
