# The packages of debug symbols, packed again: cpack's md5sums name the build
# directory (CMake 3.25), and documentation is the other package's.
foreach(file ${CPACK_PACKAGE_FILES})
    if(file MATCHES "/([^/]*)-dbgsym[^/]*\\.ddeb$")
        set(package ${CMAKE_MATCH_1})
        set(root ${file}.d)
        execute_process(COMMAND dpkg-deb -R ${file} ${root} COMMAND_ERROR_IS_FATAL ANY)
        file(MAKE_DIRECTORY ${root}/usr/share/doc)
        file(CREATE_LINK ${package} ${root}/usr/share/doc/${package}-dbgsym SYMBOLIC)
        file(GLOB_RECURSE symbols RELATIVE ${root} ${root}/usr/lib/debug/*)
        execute_process(COMMAND md5sum ${symbols} WORKING_DIRECTORY ${root}
            OUTPUT_FILE ${root}/DEBIAN/md5sums COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND chmod a-x ${symbols} WORKING_DIRECTORY ${root}
            COMMAND_ERROR_IS_FATAL ANY)
        execute_process(COMMAND dpkg-deb --root-owner-group -b ${root} ${file}
            OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    endif()
endforeach()
