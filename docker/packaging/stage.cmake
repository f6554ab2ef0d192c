# What Debian's policy asks for, done to the staged files before they are packed:
# copyright, changelog, compressed man pages, lintian's overrides.
set(here ${CMAKE_CURRENT_LIST_DIR})
file(READ ${here}/../../LICENSE bsd)
string(REGEX REPLACE ".*\n(Redistribution and use)" "\\1" bsd "${bsd}")
string(REPLACE "\n\n" "\n.\n" bsd "${bsd}")
string(STRIP "${bsd}" bsd)
string(REPLACE "\n" "\n " bsd "${bsd}")
execute_process(COMMAND dpkg-query -W -f "\${source:Version}" binutils-dev
    OUTPUT_VARIABLE binutils COMMAND_ERROR_IS_FATAL ANY)

foreach(package ${CPACK_COMPONENTS_ALL})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${package}/usr)
    set(doc ${root}/share/doc/${package})
    set(linked "")
    if(package STREQUAL heapwire-symbolizer)
        file(READ ${here}/copyright.linked.in linked)
        string(CONFIGURE "${linked}" linked @ONLY)
    endif()
    configure_file(${here}/copyright.in ${doc}/copyright @ONLY)
    file(READ ${here}/changelog changelog)
    string(REGEX REPLACE "\n -- [^>]*>" "\n -- ${CPACK_PACKAGE_CONTACT}" changelog "${changelog}")
    file(WRITE ${doc}/changelog "${changelog}")
    file(GLOB libraries ${root}/lib/heapwire/*.so)
    if(libraries)
        configure_file(${here}/ldconfig.lintian-overrides
            ${root}/share/lintian/overrides/${package} COPYONLY)
    endif()

    # They name what an installation from source has.
    file(GLOB pages ${root}/share/man/man*/*)
    foreach(page ${pages})
        file(READ ${page} text)
        string(REPLACE /usr/local/lib/ /usr/lib/ text "${text}")
        file(WRITE ${page} "${text}")
    endforeach()
    execute_process(COMMAND gzip -9n ${doc}/changelog ${pages}
        COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB archives ${root}/lib/*/*.a)
    foreach(archive ${archives})
        execute_process(COMMAND ${CPACK_HW_STRIP} --strip-debug ${archive}
            COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
endforeach()

# Where mariadbd looks; beside the file is heapwired.
set(plugins ${CPACK_TEMPORARY_DIRECTORY}/mariadb-plugin-heapwire/usr/lib/mysql/plugin)
file(MAKE_DIRECTORY ${plugins})
file(CREATE_LINK ../../heapwire/heapwire.so ${plugins}/heapwire.so SYMBOLIC)
