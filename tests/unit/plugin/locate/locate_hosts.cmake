# The programs that test_locate looks at; each, and what strip leaves of it.
set(locate_dir ${hw_test_hosts})
file(MAKE_DIRECTORY ${locate_dir})
set(arch ${CMAKE_LIBRARY_ARCHITECTURE})
find_program(LOCATE_STRIP NAMES ${arch}-strip strip REQUIRED)
find_program(LOCATE_OBJCOPY NAMES ${arch}-objcopy objcopy REQUIRED)
find_library(LOCATE_JEMALLOC NAMES libjemalloc_pic.a REQUIRED)

# locate_strip(target): also a stripped one, and one whose debug file is split.
function(locate_strip target)
    set_target_properties(${target} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${locate_dir})
    add_custom_command(TARGET ${target} POST_BUILD
        COMMAND ${LOCATE_STRIP} -o ${locate_dir}/${target}.stripped
            $<TARGET_FILE:${target}>
        COMMAND ${LOCATE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${target}>
            ${locate_dir}/${target}.debug
        COMMAND ${LOCATE_OBJCOPY} --strip-all
            --add-gnu-debuglink=${target}.debug
            $<TARGET_FILE:${target}> ${target}.split
        WORKING_DIRECTORY ${locate_dir})
    add_dependencies(test_locate ${target})
endfunction()

# locate_host(name prefix variable options link-flags...)
function(locate_host name prefix variable options)
    if(ARGN MATCHES "-no-pie|-static$")
        set(code -fno-pie)
    else()
        set(code -fPIE)
    endif()
    add_executable(host_${name} locate/locate_host.c)
    target_compile_definitions(host_${name} PRIVATE _GNU_SOURCE
        HOST_PREFIX=${prefix} HOST_VARIABLE="${variable}"
        HOST_OPTIONS="${options}")
    set_target_properties(host_${name} PROPERTIES
        POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(host_${name} PRIVATE -O2 ${code})
    target_link_options(host_${name} PRIVATE -Wl,--build-id ${ARGN})
    if(name STREQUAL cloned)
        target_compile_definitions(host_${name} PRIVATE HOST_CLONES)
    else()
        target_sources(host_${name} PRIVATE locate/locate_host_api.c)
    endif()
    locate_strip(host_${name})
endfunction()

locate_host(je je JEMALLOC_CONF none -pie)
locate_host(fixed je_ JE_MALLOC_CONF none -no-pie)
locate_host(static _rjem_ _RJEM_MALLOC_CONF none -static)
locate_host(static_pie je_ JE_MALLOC_CONF none -static-pie)
locate_host(any Any_ ANY_MALLOC_CONF
    "prof:true,prof_active:true,lg_prof_sample:20" -pie)
locate_host(plain "" MALLOC_CONF "MALLOC_CONF=prof_active:false is set" -pie)
locate_host(exported je_ JE_MALLOC_CONF none -pie -rdynamic)
target_compile_definitions(host_exported PRIVATE HOST_EXPORTS)
locate_host(cloned je_ JE_MALLOC_CONF none -pie)
locate_host(moved je_ JE_MALLOC_CONF none -pie)
target_compile_definitions(host_moved PRIVATE HOST_MOVED)
locate_host(no_frames je_ JE_MALLOC_CONF none -pie -Wl,--no-eh-frame-hdr)
locate_host(renamed zz_ JE_MALLOC_CONF none -pie)
locate_host(no_id je_ JE_MALLOC_CONF none -pie -Wl,--build-id=none)

# Two in one program.
add_executable(host_two locate/locate_real.c)
foreach(prefix je_ _rjem_)
    string(TOUPPER ${prefix} upper)
    add_library(host_part_${prefix} OBJECT locate/locate_host.c locate/locate_host_api.c)
    target_compile_definitions(host_part_${prefix} PRIVATE _GNU_SOURCE
        main=${prefix}main HOST_PREFIX=${prefix} HOST_OPTIONS="none"
        HOST_VARIABLE="${upper}MALLOC_CONF")
    target_compile_options(host_part_${prefix} PRIVATE -O2)
    target_link_libraries(host_two PRIVATE host_part_${prefix})
endforeach()
target_link_options(host_two PRIVATE -Wl,--build-id)
locate_strip(host_two)

# One in a library that a program links, and finds beside itself.
add_library(host_library SHARED locate/locate_host.c locate/locate_host_api.c)
target_compile_definitions(host_library PRIVATE _GNU_SOURCE main=host_main
    HOST_PREFIX=je_ HOST_VARIABLE="JE_MALLOC_CONF" HOST_OPTIONS="none")
target_compile_options(host_library PRIVATE -O2)
set_target_properties(host_library PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${locate_dir})
add_executable(host_user locate/locate_real.c)
target_link_options(host_user PRIVATE -Wl,--no-as-needed)
target_link_libraries(host_user PRIVATE host_library)
set_target_properties(host_user PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${locate_dir}
    BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON)
add_dependencies(test_locate host_user)

# With Debian's jemalloc: the real thing.  The static one ends in prof:true.
add_executable(host_real locate/locate_real.c)
target_compile_definitions(host_real PRIVATE _GNU_SOURCE)
target_link_options(host_real PRIVATE -Wl,--build-id)
target_link_libraries(host_real PRIVATE ${LOCATE_JEMALLOC} m)
locate_strip(host_real)

add_executable(host_real_cxx locate/locate_real_cxx.c)
target_compile_options(host_real_cxx PRIVATE -O2)
target_link_options(host_real_cxx PRIVATE -Wl,--build-id)
target_link_libraries(host_real_cxx PRIVATE ${LOCATE_JEMALLOC} stdc++ m)
locate_strip(host_real_cxx)

add_executable(host_real_static locate/locate_real.c)
target_compile_definitions(host_real_static PRIVATE _GNU_SOURCE)
target_link_options(host_real_static PRIVATE -static)
target_link_libraries(host_real_static PRIVATE ${LOCATE_JEMALLOC} stdc++ m)
locate_strip(host_real_static)

# Functions of which none is known to be a mallctl.
foreach(optimized 0 2)
    add_executable(host_given${optimized} locate/locate_given.c)
    target_compile_options(host_given${optimized} PRIVATE -O${optimized})
    locate_strip(host_given${optimized})
endforeach()
