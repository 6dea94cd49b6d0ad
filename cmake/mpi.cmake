# The two MPI libraries of Debian, side by side: loom_with_openmpi and loom_with_mpich are what a target links to be
# compiled with and linked to one of them. The ABIs differ, so nothing links both.
function(loom_find_mpi name header library)
  string(TOUPPER ${name} upper)
  find_path(LOOM_${upper}_INCLUDE mpi.h HINTS ${header} NO_DEFAULT_PATH REQUIRED)
  find_library(LOOM_${upper}_LIBRARY NAMES ${library} HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${name}/lib /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}
    NO_DEFAULT_PATH REQUIRED)
  add_library(loom_with_${name} INTERFACE)
  target_include_directories(loom_with_${name} SYSTEM INTERFACE ${LOOM_${upper}_INCLUDE})
  target_link_libraries(loom_with_${name} INTERFACE ${LOOM_${upper}_LIBRARY})
  # The C++ bindings of MPI 2 are gone from the standard, and do not compile without warnings.
  target_compile_definitions(loom_with_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endfunction()

loom_find_mpi(openmpi /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include mpi)
loom_find_mpi(mpich /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich mpich)
