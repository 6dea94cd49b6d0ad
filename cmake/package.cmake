# Installs what a program needs to use the rooms that are libraries: headers, archives and the package Loomband.
set(rooms base traffic fabric routing congestion model sim manager report verbs session transport coll window)
if(TARGET loom::twin)
  list(APPEND rooms twin)
  set_target_properties(loom_fibre PROPERTIES EXPORT_NAME fibre)
  install(TARGETS loom_fibre EXPORT LoombandTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES include/loom/twin_mpi/mpi.h DESTINATION include/loom/twin_mpi)  # for loom twin cc
endif()
foreach(room ${rooms})
  set_target_properties(loom_${room} PROPERTIES EXPORT_NAME ${room})
  install(TARGETS loom_${room} EXPORT LoombandTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/loom/${room} DESTINATION include/loom)
endforeach()
install(FILES include/loom/nbc.h include/loom/softhca.h DESTINATION include/loom)  # C headers, below all rooms

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Loomband)
install(EXPORT LoombandTargets NAMESPACE loom:: DESTINATION ${package})
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LoombandConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/LoombandConfig.cmake ${PROJECT_BINARY_DIR}/LoombandConfigVersion.cmake DESTINATION ${package})
