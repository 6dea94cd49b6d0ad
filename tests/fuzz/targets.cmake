# loom_fuzz_target(NAME SOURCE [FORMAT]): one entry of the list that both builds read. The corpus of a
# target is corpus/NAME; FORMAT is what the source sees as LOOM_FUZZ_FORMAT.
set(LOOM_FUZZ_TARGETS "")
macro(loom_fuzz_target name source)
  list(APPEND LOOM_FUZZ_TARGETS ${name})
  set(LOOM_FUZZ_SOURCE_${name} ${source})
  set(LOOM_FUZZ_FORMAT_${name} "${ARGN}")
endmacro()

loom_fuzz_target(fabric_json fabric_fuzz.cpp Format::json)
loom_fuzz_target(fabric_ibnetdiscover fabric_fuzz.cpp Format::ibnetdiscover)
loom_fuzz_target(fabric_ibsim fabric_fuzz.cpp Format::ibsim)
loom_fuzz_target(fabric_any fabric_fuzz.cpp std::nullopt)
loom_fuzz_target(tables_opensm tables_fuzz.cpp TableFormat::opensm_lfts)
loom_fuzz_target(tables_fdbs tables_fuzz.cpp TableFormat::fdbs)
loom_fuzz_target(tables_json tables_fuzz.cpp TableFormat::json)
loom_fuzz_target(tables_any tables_fuzz.cpp std::nullopt)
loom_fuzz_target(host_order host_order_fuzz.cpp)
loom_fuzz_target(pairs pairs_fuzz.cpp)
