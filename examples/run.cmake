# Runs PROGRAM on four ranks and compares what it prints with the file EXPECTED.
execute_process(COMMAND ${LOOM} run -n 4 --timeout 100 ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "exit code ${code}; printed:\n${printed}expected:\n${expected}")
endif()
