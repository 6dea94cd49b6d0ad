# loom_room(NAME [DEPENDENCY...]): the library loom::NAME from src/NAME/*.cpp, with the public headers
# in include/loom/NAME. Files are found by pattern, so that none is ever forgotten.
function(loom_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/src/${name}/(.*/)?(abi|plugin|fibre|cuda|hooks)/")  # targets of their own
  if(sources)
    add_library(loom_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_include_directories(loom_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(loom_${name} PRIVATE nlohmann_json::nlohmann_json)
    # Nobody replaces functions of ours: one file's may be inlined into each other, position-independent or not.
    target_compile_options(loom_${name} PRIVATE -fno-semantic-interposition)
  else()
    add_library(loom_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(loom::${name} ALIAS loom_${name})
  target_include_directories(loom_${name} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(loom_${name} ${scope} cxx_std_20)
  foreach(dependency ${ARGN})
    target_link_libraries(loom_${name} ${scope} loom::${dependency})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY LOOM_ROOMS ${name})
endfunction()

# The GoogleTest program test_NAME from tests/NAME/*.cpp, run as tests labelled NAME. Compiled with little
# optimisation: the tests' own code is cheap to run and dear to optimise. Only sources that ask for the tree's
# path are told, so that the compiler cache serves every checkout alike.
function(loom_test_program name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  foreach(source ${sources})
    file(STRINGS ${source} asks REGEX "LOOM_SOURCE_DIR|LOOM_PROGRAM|support/process.hpp|house/sources.hpp")
    if(asks)
      set_source_files_properties(${source} PROPERTIES
        COMPILE_DEFINITIONS "LOOM_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";LOOM_PROGRAM=\"${PROJECT_BINARY_DIR}/src/cli/loom\"")
    endif()
  endforeach()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE ${ARGN} loom_test_reference GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(test_${name} PRIVATE -O1)
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES ${LOOM_TEST_LIMITS} LABELS ${name})
endfunction()

# loom_room_tests(NAME [LIBRARY...]): the tests of a room.
function(loom_room_tests name)
  loom_test_program(${name} loom::${name} ${ARGN})
endfunction()

# loom_program_tests(NAME [LIBRARY...]): tests that run the built program, LOOM_PROGRAM.
function(loom_program_tests name)
  loom_test_program(${name} ${ARGN} nlohmann_json::nlohmann_json)
  if(TARGET test_${name})
    add_dependencies(test_${name} loom)
  endif()
endfunction()

# loom_checked_kernels(TARGET SOURCE...): kernels in these sources of TARGET tell the checker of each of their loads and
# stores (LOOM_DEVICE_CHECK=races). g++ puts the calls in, as it does for the thread sanitizer; loom::device_hooks has
# them. Not together with a sanitizer, whose place they take: kernels then say what they touch (dcuda_reads).
function(loom_checked_kernels target)
  if(LOOM_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -fsanitize=thread -Wno-tsan)
  target_link_libraries(${target} PRIVATE loom_device_hooks)
endfunction()
