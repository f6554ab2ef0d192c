# The programs that test_locate looks at; each, and what strip leaves of it.
set(locate_dir ${CMAKE_CURRENT_BINARY_DIR}/locate)
file(MAKE_DIRECTORY ${locate_dir})
find_program(LOCATE_STRIP NAMES strip REQUIRED)
find_program(LOCATE_OBJCOPY NAMES objcopy REQUIRED)
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
    add_executable(host_${name} locate_host.c)
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
        target_sources(host_${name} PRIVATE locate_host_api.c)
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
locate_host(renamed zz_ JE_MALLOC_CONF none -pie)
locate_host(no_id je_ JE_MALLOC_CONF none -pie -Wl,--build-id=none)

# With Debian's jemalloc: the real thing.
add_executable(host_real locate_real.c)
target_compile_definitions(host_real PRIVATE _GNU_SOURCE)
target_link_options(host_real PRIVATE -Wl,--build-id)
target_link_libraries(host_real PRIVATE ${LOCATE_JEMALLOC} m)
locate_strip(host_real)
