# One function per kind of room. The link lines of the folders are the layer diagram (docs/architecture.md).

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Rooms are linked into the program and into plugins; nothing is exported, so it costs nothing measurable.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
if(TRIREME_TESTS)
  find_package(GTest REQUIRED)
endif()
if(TRIREME_TESTS OR TRIREME_FUZZ)
  enable_testing()
endif()
if(TRIREME_FUZZ)
  add_custom_target(fuzzers)
endif()

# What ./dev builds of the tests: all, or those of one label.
#   fast     seconds; run by every check and under sanitizers (a test without another label is fast)
#   slow     the rest of ./dev test
#   full     whole grids, only in ./dev test full
#   threads  besides one of these: also run under ThreadSanitizer; alone: a part of another test that is
set(TRIREME_TEST_LABELS fast slow full threads)
if(TRIREME_TESTS)
  add_custom_target(tests)
  foreach(label IN LISTS TRIREME_TEST_LABELS)
    add_custom_target(tests_${label})
  endforeach()
endif()

add_library(trireme_flags INTERFACE)
target_include_directories(trireme_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
# -Wno-missing-field-initializers: designated initialisers leave out what keeps its default.
# -ffp-contract=off: an FMA stands only where it is written, so that bits do not depend on the compiler's mood.
target_compile_options(trireme_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                               -Wno-missing-field-initializers
                                               -ffp-contract=off -fno-math-errno -fvisibility=hidden)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in ordinary string concatenation (GCC bug 105651).
  target_compile_options(trireme_flags INTERFACE -Wno-restrict)
endif()
target_link_libraries(trireme_flags INTERFACE Threads::Threads fmt::fmt)
if(TRIREME_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "libFuzzer is a part of clang: configure with the preset `fuzz`")
  endif()
  target_compile_options(trireme_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TRIREME_SANITIZE)
  target_compile_options(trireme_flags INTERFACE -fsanitize=${TRIREME_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  if(TRIREME_SANITIZE MATCHES undefined)  # AddressSanitizer sees what these three would, which take a fifth of the time to compile
    target_compile_options(trireme_flags INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
  target_link_options(trireme_flags INTERFACE -fsanitize=${TRIREME_SANITIZE})
endif()

# trireme_room(NAME SOURCES ... LINKS ... LIBRARIES ... TESTS ... TEST_LINKS ... TEST_LABELS ... TEST_THREADS filter)
#   one folder as a static library `trireme_NAME`; LINKS are rooms on lower floors, LIBRARIES are private foreign ones;
#   TESTS become one program NAME_test, which is one ctest case; TEST_THREADS is its THREADS.
function(trireme_room name)
  cmake_parse_arguments(ROOM "" "TEST_THREADS" "SOURCES;LINKS;LIBRARIES;TESTS;TEST_LINKS;TEST_LABELS" ${ARGN})
  add_library(trireme_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(trireme_${name} PUBLIC trireme_flags)
  foreach(link IN LISTS ROOM_LINKS)
    if(NOT TARGET trireme_${link})
      message(FATAL_ERROR "src/${name} links to ${link}, which is not on a lower floor")
    endif()
    target_link_libraries(trireme_${name} PUBLIC trireme_${link})
  endforeach()
  target_link_libraries(trireme_${name} PRIVATE ${ROOM_LIBRARIES})
  if(TRIREME_TESTS AND ROOM_TESTS)
    trireme_test(${name}_test SOURCES ${ROOM_TESTS} LINKS ${name} ${ROOM_TEST_LINKS} LABELS ${ROOM_TEST_LABELS}
                 THREADS ${ROOM_TEST_THREADS})
  endif()
endfunction()

# trireme_build_id(FOLDER ROOMS a b/c)  writes the source file of src/FOLDER/build_id.h, by which a shared library and the program
# know that they were built together: a digest over these rooms, compiler and flags. Its path is in FOLDER_build_id (as in
# comm_mpi_build_id).
function(trireme_build_id folder)
  cmake_parse_arguments(ID "" "" "ROOMS" ${ARGN})
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(REPLACE ";" "," rooms "${ID_ROOMS}")
  string(REPLACE "/" "_" name ${folder})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}_build_id.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/src -DROOMS=${rooms} -DFOLDER=${folder} -DVERSION=${PROJECT_VERSION}
            "-DTOOLS=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${TRIREME_SANITIZE}"
            -DOUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
    DEPFILE ${output}.d
    COMMENT "Naming the build of ${folder}" VERBATIM)
  set(${name}_build_id ${output} PARENT_SCOPE)
endfunction()

# trireme_library(NAME SOURCES ... LIBRARIES ...)  a shared library trireme_NAME.so beside the program, opened on demand. Exports
# what it says itself and none of the rooms that it is made of.
function(trireme_library name)
  cmake_parse_arguments(LIBRARY "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(trireme_${name} MODULE ${LIBRARY_SOURCES})
  set_target_properties(trireme_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(trireme_${name} PRIVATE trireme_flags ${LIBRARY_LIBRARIES})
  target_link_options(trireme_${name} PRIVATE LINKER:--exclude-libs,ALL)
  if(NOT TRIREME_SANITIZE)  # the sanitizers' own functions are the program's
    target_link_options(trireme_${name} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()

# trireme_plugin(NAME SOURCES ... LIBRARIES ...)  a kind of device as such a library (plugin/abi.h).
function(trireme_plugin name)
  cmake_parse_arguments(PLUGIN "" "" "SOURCES;LIBRARIES" ${ARGN})
  trireme_library(${name} SOURCES ${PLUGIN_SOURCES} LIBRARIES trireme_plugin ${PLUGIN_LIBRARIES})
endfunction()

# trireme_test(NAME SOURCES ... LINKS ... [LABELS ...] [SHARDS n] [THREADS filter])  GoogleTest program over rooms. With shards
# it is n ctest cases, each with a part of its tests. THREADS: which of its tests run under ThreadSanitizer, where all are too many;
# one case more, NAME_threads.
function(trireme_test name)
  cmake_parse_arguments(TEST "" "SHARDS;THREADS" "SOURCES;LINKS;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  list(TRANSFORM TEST_LINKS PREPEND trireme_)
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} ${TEST_LIBRARIES} GTest::gtest GTest::gtest_main)
  if(TRIREME_SANITIZE MATCHES undefined)  # which takes longer to optimise a test's own code than that to run as it stands
    target_compile_options(${name} PRIVATE -O0)
  endif()
  target_compile_definitions(${name} PRIVATE TRIREME_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # What is tested is built as it is shipped; the tests themselves are built quickly.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(TEST_SHARDS)
    math(EXPR last "${TEST_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}_${shard} COMMAND ${name})
      set_tests_properties(${name}_${shard} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${TEST_SHARDS};GTEST_SHARD_INDEX=${shard}")
      trireme_label(${name}_${shard} PROGRAM ${name} LABELS ${TEST_LABELS})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
    trireme_label(${name} PROGRAM ${name} LABELS ${TEST_LABELS})
  endif()
  if(TEST_THREADS)
    add_test(NAME ${name}_threads COMMAND ${name} --gtest_filter=${TEST_THREADS})
    # A filter that is wrong leaves nothing to run.
    set_tests_properties(${name}_threads PROPERTIES LABELS threads TIMEOUT 600 FAIL_REGULAR_EXPRESSION "Running 0 tests")
    add_dependencies(tests_threads ${name})
  endif()
endfunction()

# trireme_fuzz(NAME SOURCE fuzz/NAME_fuzz.cpp LINKS ...)  a reader of foreign bytes under libFuzzer. The source defines
# LLVMFuzzerTestOneInput; seeds, and the inputs that once failed, lie in fuzz/NAME/. In the preset `fuzz` the ctest case
# fuzz_NAME looks for new inputs for some seconds; in every other build it runs those that lie there.
function(trireme_fuzz name)
  cmake_parse_arguments(FUZZ "" "SOURCE" "LINKS;LIBRARIES" ${ARGN})
  if(NOT TRIREME_TESTS AND NOT TRIREME_FUZZ)
    return()
  endif()
  add_executable(${name}_fuzz ${FUZZ_SOURCE})
  list(TRANSFORM FUZZ_LINKS PREPEND trireme_)
  target_link_libraries(${name}_fuzz PRIVATE trireme_flags ${FUZZ_LINKS} ${FUZZ_LIBRARIES})
  set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${name})
  if(TRIREME_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    set(found ${CMAKE_BINARY_DIR}/fuzz/${name})
    file(MAKE_DIRECTORY ${found})
    add_test(NAME fuzz_${name}
             COMMAND ${name}_fuzz -max_total_time=${TRIREME_FUZZ_SECONDS} -timeout=20 -rss_limit_mb=3072 -max_len=65536
                     -verbosity=0 -print_final_stats=1 -artifact_prefix=${found}- ${found} ${seeds})
    set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT 600)
    add_dependencies(fuzzers ${name}_fuzz)
  else()
    target_sources(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/replay_main.cpp)
    add_test(NAME fuzz_${name} COMMAND ${name}_fuzz ${seeds})
    trireme_label(fuzz_${name} PROGRAM ${name}_fuzz)
  endif()
endfunction()

# trireme_label(TEST [PROGRAM target] [LABELS ...])  labels of a ctest case, and the target it needs among those of its labels.
function(trireme_label test)
  cmake_parse_arguments(LABEL "" "PROGRAM" "LABELS" ${ARGN})
  foreach(label IN LISTS LABEL_LABELS)
    if(NOT label IN_LIST TRIREME_TEST_LABELS)
      message(FATAL_ERROR "test ${test}: there is no label '${label}'; the labels are ${TRIREME_TEST_LABELS}")
    endif()
  endforeach()
  set(speed ${LABEL_LABELS})
  list(REMOVE_ITEM speed threads)
  if(NOT speed)
    list(PREPEND LABEL_LABELS fast)
  endif()
  set_tests_properties(${test} PROPERTIES LABELS "${LABEL_LABELS}" TIMEOUT 600)
  if(LABEL_PROGRAM)
    add_dependencies(tests ${LABEL_PROGRAM})
    foreach(label IN LISTS LABEL_LABELS)
      add_dependencies(tests_${label} ${LABEL_PROGRAM})
    endforeach()
  endif()
endfunction()

function(trireme_summary)
  message(STATUS "trireme ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
                 "ccache ${CCACHE}, MPI ${TRIREME_MPI}, sanitizers '${TRIREME_SANITIZE}', tests ${TRIREME_TESTS}, benchmarks ${TRIREME_BENCH}")
endfunction()
