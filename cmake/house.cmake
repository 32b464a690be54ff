# One function per kind of room. The link lines of the folders are the layer diagram (docs/architecture.md).

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
if(TRIREME_TESTS)
  find_package(GTest REQUIRED)
  enable_testing()
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
if(TRIREME_SANITIZE)
  target_compile_options(trireme_flags INTERFACE -fsanitize=${TRIREME_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(trireme_flags INTERFACE -fsanitize=${TRIREME_SANITIZE})
endif()

# trireme_room(NAME SOURCES ... LINKS ... LIBRARIES ... TESTS ...)
#   one folder as a static library `trireme_NAME`; LINKS are rooms on lower floors, LIBRARIES are private foreign ones;
#   TESTS become one program NAME_test, each of its tests one ctest case.
function(trireme_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS;LIBRARIES;TESTS;TEST_LINKS" ${ARGN})
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
    trireme_test(${name}_test SOURCES ${ROOM_TESTS} LINKS ${name} ${ROOM_TEST_LINKS})
  endif()
endfunction()

# trireme_test(NAME SOURCES ... LINKS ... [LABELS ...])  GoogleTest program over rooms.
function(trireme_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINKS;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  list(TRANSFORM TEST_LINKS PREPEND trireme_)
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} ${TEST_LIBRARIES} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE TRIREME_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(NOT TEST_LABELS)
    set(TEST_LABELS fast)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT 600)
endfunction()

function(trireme_summary)
  message(STATUS "trireme ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
                 "ccache ${CCACHE}, sanitizers '${TRIREME_SANITIZE}', tests ${TRIREME_TESTS}")
endfunction()
