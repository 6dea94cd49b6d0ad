include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(nlohmann_json)
find_dependency(OpenSSL COMPONENTS Crypto)
find_package(Boost QUIET COMPONENTS context)  # of loom::twin, where that was built
include(${CMAKE_CURRENT_LIST_DIR}/LoombandTargets.cmake)

# Programs find the libraries that are opened while they run (libloom-verbs.so and the plug-ins) where the package is.
foreach(folder ${CMAKE_CURRENT_LIST_DIR}/../.. ${CMAKE_CURRENT_LIST_DIR}/../../..)
  if(EXISTS ${folder}/libloom-verbs.so)
    get_filename_component(folder ${folder} REALPATH)
    set_property(TARGET loom::verbs APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:-rpath,${folder}")
    break()
  endif()
endforeach()
