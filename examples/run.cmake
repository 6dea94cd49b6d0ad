# Runs PROGRAM, on RANKS ranks if there are to be several (in virtual time where TWIN is set), and compares what it prints
# with the file EXPECTED.
set(launcher "")
if(TWIN)
  set(launcher ${LOOM} twin run -q -n ${RANKS} --timeout 100)
elseif(RANKS GREATER 1)
  set(launcher ${LOOM} run -n ${RANKS} --timeout 100)
endif()
execute_process(COMMAND ${launcher} ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "exit code ${code}; printed:\n${printed}expected:\n${expected}")
endif()
