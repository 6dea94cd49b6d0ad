# A short run of every fuzz target, as tests labelled "fuzz". They build themselves in a folder of their
# own, because libFuzzer comes with clang only; without clang they fail.
include(${CMAKE_CURRENT_LIST_DIR}/targets.cmake)
set(fuzz_run ${CMAKE_CURRENT_LIST_DIR}/run.sh)
set(fuzz_build ${PROJECT_SOURCE_DIR}/build/fuzz)
# A number of inputs and a seed, not a time: the same inputs on every machine. The seconds are a limit.
set(fuzz_runs 20000)
set(fuzz_seconds 60)

add_test(NAME fuzz.build COMMAND ${fuzz_run} build ${PROJECT_SOURCE_DIR} ${fuzz_build})
set_tests_properties(fuzz.build PROPERTIES FIXTURES_SETUP fuzz_programs LABELS fuzz TIMEOUT 1800 PROCESSORS 2)
foreach(name ${LOOM_FUZZ_TARGETS})
  add_test(NAME fuzz.${name} COMMAND ${fuzz_run} run ${PROJECT_SOURCE_DIR} ${fuzz_build} ${name} ${fuzz_seconds} -seed=1 -runs=${fuzz_runs})
  set_tests_properties(fuzz.${name} PROPERTIES FIXTURES_REQUIRED fuzz_programs LABELS fuzz TIMEOUT 180)
endforeach()
