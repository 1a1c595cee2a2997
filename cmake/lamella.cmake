# Every directory of src/ is one static library; what it may include and link is written once, here (docs: the arrows of
# CONTRIBUTING.md). script/lint reads these lines to check the #include lines, so keep one directory a line.
#   lamella_dir(NAME [NEEDS other directories...] [HEADERS files it may include from elsewhere] [TESTS_NEED directories for
#               its unit tests] [LIBS external libraries])
# Order: a directory follows all that it needs.
set(LAMELLA_ALL_DIRS "")

macro(lamella_dir name)
  cmake_parse_arguments(_d "" "" "NEEDS;HEADERS;TESTS_NEED;LIBS" ${ARGN})
  list(APPEND LAMELLA_ALL_DIRS ${name})
  set(LAMELLA_NEEDS_${name} ${_d_NEEDS})
  set(LAMELLA_TESTS_NEED_${name} ${_d_TESTS_NEED})
  set(LAMELLA_LIBS_${name} ${_d_LIBS})
endmacro()

# What lives in other processes.
lamella_dir(core)
lamella_dir(stream NEEDS core)
lamella_dir(recorder NEEDS core stream)
lamella_dir(unwind NEEDS core)
lamella_dir(agent NEEDS core stream unwind)
lamella_dir(selftest)
# What reads, analyses and shows.
lamella_dir(base LIBS zstd zlib)
lamella_dir(reader NEEDS base HEADERS stream/layout.h TESTS_NEED core stream LIBS zstd)
lamella_dir(symbols NEEDS base HEADERS profile/sink.h LIBS elf dw iberty zstd)
lamella_dir(profile NEEDS base)
lamella_dir(input NEEDS base reader symbols profile TESTS_NEED core stream)
lamella_dir(phase NEEDS base reader symbols profile)
lamella_dir(build NEEDS base reader symbols profile)
lamella_dir(session NEEDS core base reader symbols profile HEADERS stream/layout.h TESTS_NEED stream)
lamella_dir(analysis NEEDS base reader symbols profile input phase build)
lamella_dir(output NEEDS base reader symbols profile input phase build analysis)
lamella_dir(store NEEDS base reader symbols profile input phase build analysis)
lamella_dir(census NEEDS base reader symbols profile input phase build analysis store)
lamella_dir(cli NEEDS base reader symbols profile input phase build analysis output session store census LIBS microhttpd_header)

# What the shared object that is preloaded consists of.
set(LAMELLA_AGENT_DIRS core stream unwind agent)
set(LAMELLA_RECORDER_DIRS core stream recorder)

add_library(lam_flags INTERFACE)
target_compile_options(lam_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wconversion;-Wshadow;-Werror>)
# Empty, so that a source may also say `#define _GNU_SOURCE`.
target_compile_definitions(lam_flags INTERFACE _GNU_SOURCE= LAM_VERSION="${PROJECT_VERSION}")
target_include_directories(lam_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

# The asan preset's flags halve what compiling takes and leave more to be found. What only an optimiser can warn of is an error in
# release; at -O1, between checks, gcc takes more for possible than there is.
add_library(lam_sanitize INTERFACE)
if(LAMELLA_SANITIZE)
  target_compile_options(lam_sanitize INTERFACE
    -fsanitize=${LAMELLA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all ${LAMELLA_SANITIZE_FLAGS})
  target_link_options(lam_sanitize INTERFACE -fsanitize=${LAMELLA_SANITIZE})
endif()

# The external libraries become lam_ext_NAME.
function(lamella_find_packages)
  foreach(name elf dw zstd zlib iberty microhttpd_header cmocka)
    add_library(lam_ext_${name} INTERFACE)
  endforeach()
  if(LAMELLA_DIRS)
    return()
  endif()
  find_package(PkgConfig REQUIRED)
  set(modules elf libelf dw libdw zstd libzstd zlib zlib cmocka cmocka)
  while(modules)
    list(POP_FRONT modules name module)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
    target_link_libraries(lam_ext_${name} INTERFACE PkgConfig::${name})
  endwhile()
  # Loaded when it is needed (cli/http_library.h), so never linked.
  pkg_check_modules(microhttpd REQUIRED libmicrohttpd)
  target_include_directories(lam_ext_microhttpd_header SYSTEM INTERFACE ${microhttpd_INCLUDE_DIRS})
  # Debian's libiberty-dev has neither a .pc file nor a shared library.
  find_library(LAMELLA_IBERTY NAMES libiberty.a REQUIRED)
  find_path(LAMELLA_IBERTY_INCLUDE libiberty/demangle.h REQUIRED)
  target_link_libraries(lam_ext_iberty INTERFACE ${LAMELLA_IBERTY})
  target_include_directories(lam_ext_iberty SYSTEM INTERFACE ${LAMELLA_IBERTY_INCLUDE}/libiberty)
endfunction()

# Sets OUT to the sources of src/DIR that belong into its library.
function(lamella_sources out dir)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${dir}/*.c ${PROJECT_SOURCE_DIR}/src/${dir}/*.S)
  list(FILTER sources EXCLUDE REGEX "_test\\.c$|/cli/main\\.c$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Adds to TARGET those of the named directories that have a library.
function(lamella_link target)
  foreach(dir ${ARGN})
    if(TARGET lam_${dir})
      target_link_libraries(${target} PUBLIC lam_${dir})
    endif()
  endforeach()
endfunction()

function(lamella_libraries)
  set(dirs ${LAMELLA_ALL_DIRS})
  if(LAMELLA_DIRS)
    set(dirs ${LAMELLA_DIRS})
  endif()
  foreach(dir ${dirs})
    if(dir STREQUAL "selftest")
      continue()    # a program: lamella_selftest_helper()
    endif()
    lamella_sources(sources ${dir})
    if(dir STREQUAL "phase" AND IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/phase)
      lamella_builtin_markers(generated)
      list(APPEND sources ${generated})
    endif()
    if(dir STREQUAL "output")
      lamella_page(generated)
      list(APPEND sources ${generated})
    endif()
    # A program under the thread sanitizer cannot bear functions in front of those that its runtime is made of.
    if(dir STREQUAL "agent" AND LAMELLA_SANITIZE MATCHES "thread")
      list(FILTER sources EXCLUDE REGEX "/interpose_|/syscall_stub")
    endif()
    if(NOT sources)
      continue()
    endif()
    add_library(lam_${dir} STATIC ${sources})
    set_target_properties(lam_${dir} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(lam_${dir} PUBLIC lam_flags lam_sanitize)
    lamella_link(lam_${dir} ${LAMELLA_NEEDS_${dir}})
    foreach(lib ${LAMELLA_LIBS_${dir}})
      target_link_libraries(lam_${dir} PUBLIC lam_ext_${lib})
    endforeach()
    if(NOT dir MATCHES "^(core|stream|recorder|unwind|agent)$")
      target_link_libraries(lam_${dir} PUBLIC m pthread)
    endif()
  endforeach()
  # Where an installed lamella finds the agent and its helpers, seen from the directory of its executable.
  file(RELATIVE_PATH agent_dir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH helper_dir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBEXECDIR}/lamella)
  foreach(dir session cli)
    if(TARGET lam_${dir})
      target_compile_definitions(lam_${dir} PRIVATE LAM_AGENT_FROM_BINDIR="${agent_dir}/liblamella-agent.so"
                                                    LAM_HELPERS_FROM_BINDIR="${helper_dir}")
    endif()
  endforeach()
endfunction()

# One C file with the text of every marker file.
function(lamella_builtin_markers out)
  file(GLOB markers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/markers/*.markers)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_markers.cmake)
  set(generated ${PROJECT_BINARY_DIR}/generated/builtin_markers.c)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -D "OUT=${generated}" -D "FILES=${markers}" -P ${script}
    DEPENDS ${markers} ${script} VERBATIM COMMENT "Embedding marker files")
  set(${out} ${generated} PARENT_SCOPE)
endfunction()

# One C file with the page that page/ is bundled to. Without Node.js and the packages of page/package-lock.json everything
# else is built, and `lamella page` says what is missing.
function(lamella_page out)
  set(page ${PROJECT_SOURCE_DIR}/page)
  set(made ${PROJECT_BINARY_DIR}/generated)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
  find_program(LAMELLA_NODE NAMES node nodejs)
  # npm writes this file when it has installed all of a lock file.
  set(packages ${page}/node_modules/.package-lock.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page}/package-lock.json)
  if(LAMELLA_NODE AND EXISTS ${packages})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${page}/src/*)
    add_custom_command(OUTPUT ${made}/page_head.html ${made}/page_tail.html
      COMMAND ${LAMELLA_NODE} ${page}/build.mjs --out ${made}
      DEPENDS ${sources} ${page}/build.mjs ${page}/page.html ${packages} VERBATIM COMMENT "Bundling the page")
    set(halves -D "HEAD=${made}/page_head.html" -D "TAIL=${made}/page_tail.html")
    set(needed ${made}/page_head.html ${made}/page_tail.html)
  else()
    message(WARNING "`lamella page` is left out of this build: node or ${page}/node_modules is missing (script/setup "
                    "installs both; then configure again)")
  endif()
  add_custom_command(OUTPUT ${made}/page_template.c
    COMMAND ${CMAKE_COMMAND} -D "OUT=${made}/page_template.c" ${halves} -P ${script}
    DEPENDS ${script} ${needed} VERBATIM COMMENT "Embedding the page")
  set(${out} ${made}/page_template.c PARENT_SCOPE)
endfunction()

# The preloaded object is compiled from the sources again, so that no sanitizer and no flag of the static libraries gets in.
function(lamella_agent)
  lamella_sources(agent agent)
  if(NOT agent)
    return()
  endif()
  set(sources "")
  foreach(dir ${LAMELLA_AGENT_DIRS})
    lamella_sources(some ${dir})
    list(APPEND sources ${some})
  endforeach()
  add_library(lamella-agent SHARED ${sources})
  target_link_libraries(lamella-agent PRIVATE lam_flags)
  # -fno-plt: calls go through the global offset table, already bound, and a sample taken in one needs no rule for a PLT.
  # no-builtin: a loop over bytes stays one and does not become a call to a function the program may have replaced.
  # initial-exec: thread-local data can be touched in a signal handler without the loader's lock or an allocation.
  target_compile_options(lamella-agent PRIVATE
    -fno-plt -ftls-model=initial-exec -fno-stack-protector -U_FORTIFY_SOURCE -fno-builtin
    -fstack-usage
    $<$<COMPILE_LANGUAGE:C>:-fasynchronous-unwind-tables;-fno-exceptions>)
  # initfirst: our constructor runs before those of all other libraries, so that their start is sampled as well.
  target_link_options(lamella-agent PRIVATE
    -static-libgcc -Wl,-z,initfirst -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--as-needed)
  set(map ${PROJECT_SOURCE_DIR}/src/agent/agent.map)
  if(EXISTS ${map})
    target_link_options(lamella-agent PRIVATE -Wl,--version-script=${map})
    set_property(TARGET lamella-agent APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
  set_target_properties(lamella-agent PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# liblamella for instrumented programs, compiled from the sources again without sanitizers: a shared object with versioned
# symbols, and an archive of one relocatable object in which all that is hidden has become local.
function(lamella_recorder_library)
  lamella_sources(recorder recorder)
  if(NOT recorder)
    return()
  endif()
  set(sources "")
  foreach(dir ${LAMELLA_RECORDER_DIRS})
    lamella_sources(some ${dir})
    list(APPEND sources ${some})
  endforeach()
  # What only the agent needs stays out.
  list(FILTER sources EXCLUDE REGEX "/elf_probe\\.c$")
  set(map ${PROJECT_SOURCE_DIR}/src/recorder/lamella.map)
  foreach(kind shared objects)
    string(REPLACE objects OBJECT type ${kind})
    string(REPLACE shared SHARED type ${type})
    add_library(lamella-${kind} ${type} ${sources})
    target_link_libraries(lamella-${kind} PRIVATE lam_flags)
    # initial-exec: an event in a signal handler must not call the loader. -O2 whatever the build: this is what is measured.
    target_compile_options(lamella-${kind} PRIVATE -O2 -fPIC -fno-plt -ftls-model=initial-exec -fno-semantic-interposition)
  endforeach()
  # nodelete: threads that end later still call us. A program that unloads a plug-in keeps this library.
  target_link_options(lamella-shared PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,defs)
  set_property(TARGET lamella-shared APPEND PROPERTY LINK_DEPENDS ${map})
  set_target_properties(lamella-shared PROPERTIES OUTPUT_NAME lamella VERSION ${PROJECT_VERSION} SOVERSION 0
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  set(archive ${PROJECT_BINARY_DIR}/liblamella.a)
  set(whole ${PROJECT_BINARY_DIR}/lamella-whole.o)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_LINKER} -r -o ${whole} $<TARGET_OBJECTS:lamella-objects>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} qcs ${archive} ${whole}
    DEPENDS lamella-objects $<TARGET_OBJECTS:lamella-objects> COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Making liblamella.a")
  add_custom_target(lamella-static ALL DEPENDS ${archive})
endfunction()

# plugins/NAME, each with a CMakeLists.txt that leaves it out, with a word, where what it is for is not installed.
function(lamella_plugins)
  file(GLOB plugins CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/plugins/*/CMakeLists.txt)
  foreach(plugin ${plugins})
    get_filename_component(dir ${plugin} DIRECTORY)
    get_filename_component(name ${dir} NAME)
    add_subdirectory(${dir} plugins/${name})
  endforeach()
endfunction()

# examples/NAME.c, as a program of somebody else's would be built: the public header and the archive, nothing else of ours.
function(lamella_examples)
  if(NOT TARGET lamella-static)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(example-${name} ${source})
    target_compile_options(example-${name} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Werror)
    target_include_directories(example-${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(example-${name} PRIVATE ${PROJECT_BINARY_DIR}/liblamella.a pthread)
    add_dependencies(example-${name} lamella-static)
    set_target_properties(example-${name} PROPERTIES OUTPUT_NAME ${name} C_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  endforeach()
endfunction()

# liblamella-reader, made like liblamella: what reads a stream, behind the functions of lamella/reader.h.
function(lamella_reader_library)
  lamella_sources(reader reader)
  lamella_sources(base base)
  set(map ${PROJECT_SOURCE_DIR}/src/reader/reader.map)
  add_library(lamella-reader-objects OBJECT ${reader} ${base})
  set_target_properties(lamella-reader-objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(lamella-reader-objects PRIVATE lam_flags lam_ext_zstd lam_ext_zlib)
  add_library(lamella-reader SHARED $<TARGET_OBJECTS:lamella-reader-objects>)
  target_link_libraries(lamella-reader PRIVATE lam_ext_zstd lam_ext_zlib m pthread)
  target_link_options(lamella-reader PRIVATE -Wl,--version-script=${map} -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--gc-sections)
  set_property(TARGET lamella-reader APPEND PROPERTY LINK_DEPENDS ${map})
  set_target_properties(lamella-reader PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0
    LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  set(archive ${PROJECT_BINARY_DIR}/liblamella-reader.a)
  set(whole ${PROJECT_BINARY_DIR}/lamella-reader-whole.o)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_LINKER} -r -o ${whole} $<TARGET_OBJECTS:lamella-reader-objects>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} qcs ${archive} ${whole}
    DEPENDS lamella-reader-objects $<TARGET_OBJECTS:lamella-reader-objects> COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Making liblamella-reader.a")
  add_custom_target(lamella-reader-static ALL DEPENDS ${archive})
endfunction()

# `lamella`, and `cargo-lamella`, which is the same program: it looks at the name it was started by.
function(lamella_tool)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.c)
    return()
  endif()
  add_executable(lamella ${PROJECT_SOURCE_DIR}/src/cli/main.c)
  target_link_libraries(lamella PRIVATE lam_flags lam_sanitize)
  lamella_link(lamella cli ${LAMELLA_NEEDS_cli})
  # Of liblamella only what understands its options, for `lamella doctor`: nothing else of it is referred to.
  target_link_libraries(lamella PRIVATE lam_recorder)
  set_target_properties(lamella PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_custom_command(TARGET lamella POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink lamella ${PROJECT_BINARY_DIR}/cargo-lamella)
  if(TARGET lamella-agent)
    add_dependencies(lamella lamella-agent)
  endif()
endfunction()

# What `lamella selftest` records. Never sanitized; its functions are exported, so that a stripped one still has names.
function(lamella_selftest_helper)
  lamella_sources(sources selftest)
  if(NOT sources OR NOT TARGET lamella)
    return()
  endif()
  add_executable(lamella-selftest ${sources})
  target_link_libraries(lamella-selftest PRIVATE lam_flags pthread)
  target_compile_options(lamella-selftest PRIVATE -O2 -fno-optimize-sibling-calls)
  target_link_options(lamella-selftest PRIVATE -rdynamic)
  set_target_properties(lamella-selftest PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(lamella lamella-selftest)
endfunction()

# KIND/programs/NAME.c and .S become BINARY_DIR/KIND/programs/NAME (NAME.so with -shared): what tests and benchmarks record.
# Never sanitized. A first line `/* build: FLAGS */` adds flags; a flag CC=COMPILER takes another compiler, and where that
# is not installed the program is left out and its test skips.
function(lamella_programs kind)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${kind}/programs/*.c ${PROJECT_SOURCE_DIR}/${kind}/programs/*.S)
  set(outputs "")
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} first LIMIT_COUNT 1)
    set(flags "")
    if(first MATCHES "^/\\* build: (.*) \\*/")
      separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_1}")
    endif()
    set(compiler ${CMAKE_C_COMPILER})
    set(libs "")
    set(options "")
    foreach(flag ${flags})
      if(flag MATCHES "^CC=(.*)")
        string(MAKE_C_IDENTIFIER "LAMELLA_CC_${CMAKE_MATCH_1}" variable)
        find_program(${variable} ${CMAKE_MATCH_1})
        set(compiler ${${variable}})
      elseif(flag MATCHES "^-l|^-Wl,--no-as-needed")
        list(APPEND libs ${flag})
      else()
        list(APPEND options ${flag})
      endif()
    endforeach()
    if(NOT compiler)
      message(STATUS "${kind}/programs/${name}: left out, its compiler is not installed")
      continue()
    endif()
    set(output ${PROJECT_BINARY_DIR}/${kind}/programs/${name})
    if("-shared" IN_LIST options)
      string(APPEND output .so)
    endif()
    add_custom_command(OUTPUT ${output}
      COMMAND ${compiler} -std=gnu17 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE= -I${PROJECT_SOURCE_DIR}/src
              -I${PROJECT_SOURCE_DIR}/include ${options} -MMD -MF ${output}.d -MT ${output} -o ${output} ${source} ${libs}
      DEPENDS ${source} DEPFILE ${output}.d VERBATIM COMMENT "Compiling ${kind}/programs/${name}")
    list(APPEND outputs ${output})
  endforeach()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${kind}/programs)
  add_custom_target(${kind}-programs ALL DEPENDS ${outputs})
endfunction()

# The tests of src/DIR are the target unit-DIR.
function(lamella_unit_tests)
  foreach(dir ${LAMELLA_ALL_DIRS})
    add_custom_target(unit-${dir})
    file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${dir}/*_test.c)
    foreach(source ${tests})
      get_filename_component(name ${source} NAME_WE)
      add_executable(${name} ${source})
      target_link_libraries(${name} PRIVATE lam_flags lam_sanitize lam_ext_cmocka pthread m)
      lamella_link(${name} ${dir} ${LAMELLA_NEEDS_${dir}} ${LAMELLA_TESTS_NEED_${dir}})
      set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unit)
      add_dependencies(unit-${dir} ${name})
      add_test(NAME unit/${dir}/${name} COMMAND ${name})
      lamella_test_properties(unit/${dir}/${name} ${source} "unit;unit-${dir}")
    endforeach()
  endforeach()
endfunction()

function(lamella_script_tests)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*.sh ${PROJECT_SOURCE_DIR}/tests/*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    file(STRINGS ${script} helper LIMIT_COUNT 1 REGEX "^# ctest: helper")
    if(helper)
      continue()
    endif()
    if(script MATCHES "\\.py$")
      add_test(NAME e2e/${name} COMMAND ${Python3_EXECUTABLE} ${script})
    else()
      add_test(NAME e2e/${name} COMMAND bash ${script})
    endif()
    lamella_test_properties(e2e/${name} ${script} e2e)
  endforeach()
endfunction()

# A line `ctest: PROPERTY VALUE ...` near the top of a test (after `#` or `/*`) sets CTest properties, such as TIMEOUT 600
# or RUN_SERIAL ON. A test that exits with 77 is skipped.
function(lamella_test_properties test file labels)
  set_tests_properties(${test} PROPERTIES
    LABELS "${labels}" SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "LAMELLA=${PROJECT_BINARY_DIR}/lamella;LAMELLA_AGENT_SO=${PROJECT_BINARY_DIR}/liblamella-agent.so;LAMELLA_SRC=${PROJECT_SOURCE_DIR};LAMELLA_BUILD=${PROJECT_BINARY_DIR};LAMELLA_SANITIZE=${LAMELLA_SANITIZE};PYTHONDONTWRITEBYTECODE=1")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} line LIMIT_COUNT 1 REGEX "^(#|/\\*) ctest: ")
  if(line MATCHES "ctest: ([A-Za-z0-9_ ./-]+)")
    string(STRIP "${CMAKE_MATCH_1}" properties)
    separate_arguments(properties)
    set_tests_properties(${test} PROPERTIES ${properties})
  endif()
endfunction()

# fuzz/fuzz_NAME.c: a libFuzzer executable in the fuzz preset; elsewhere a test that replays fuzz/corpus/NAME.
function(lamella_fuzz_targets)
  file(GLOB targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.c)
  set(dirs ${LAMELLA_ALL_DIRS})
  list(REMOVE_ITEM dirs agent)    # it interposes libc's functions
  foreach(source ${targets})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${target})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE lam_flags lam_sanitize)
    lamella_link(${target} ${dirs})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    if(LAMELLA_FUZZ)
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/replay_main.c)
      add_test(NAME fuzz/${name} COMMAND ${target} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
      lamella_test_properties(fuzz/${name} ${source} fuzz)
    endif()
  endforeach()
endfunction()

function(lamella_install)
  if(TARGET lamella)
    install(TARGETS lamella RUNTIME)
    install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -E create_symlink lamella
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/cargo-lamella\" COMMAND_ERROR_IS_FATAL ANY)")
  endif()
  if(TARGET lamella-selftest)
    install(TARGETS lamella-selftest RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/lamella)
  endif()
  if(TARGET lamella-agent)
    install(TARGETS lamella-agent LIBRARY)
  endif()
  file(GLOB markers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/markers/*.markers)
  install(FILES ${markers} DESTINATION ${CMAKE_INSTALL_DATADIR}/lamella/markers)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.1)
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  set(completions ${PROJECT_SOURCE_DIR}/completions)
  foreach(pair "lamella.bash>bash-completion/completions>lamella" "_lamella>zsh/site-functions>_lamella"
               "lamella.fish>fish/vendor_completions.d>lamella.fish")
    string(REPLACE ">" ";" pair ${pair})
    list(GET pair 0 file)
    list(GET pair 1 where)
    list(GET pair 2 name)
    if(EXISTS ${completions}/${file})
      install(FILES ${completions}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${where} RENAME ${name})
    endif()
  endforeach()
  # pkg-config files find their tree from where they lie: `cmake --install --prefix` may put it anywhere.
  file(RELATIVE_PATH LAMELLA_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  # `--target lamella` makes all that is installed.
  foreach(made lamella-reader lamella-reader-static lamella-shared lamella-static lamella-instrument lamella-lua lamella-lua-module)
    if(TARGET lamella AND TARGET ${made})
      add_dependencies(lamella ${made})
    endif()
  endforeach()
  if(TARGET lamella-reader)
    install(TARGETS lamella-reader LIBRARY)
    install(FILES ${PROJECT_BINARY_DIR}/liblamella-reader.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/include/lamella/reader.h ${PROJECT_SOURCE_DIR}/include/lamella/codes.h
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lamella)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/lamella-reader.pc.in ${PROJECT_BINARY_DIR}/lamella-reader.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/lamella-reader.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
  if(TARGET lamella-shared)
    install(TARGETS lamella-shared LIBRARY)
    install(FILES ${PROJECT_BINARY_DIR}/liblamella.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/include/lamella/lamella.h ${PROJECT_SOURCE_DIR}/include/lamella/codes.h
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lamella)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/lamella.pc.in ${PROJECT_BINARY_DIR}/lamella.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/lamella.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endfunction()
