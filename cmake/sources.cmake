# How folders say which sources the library has.

# Sources of the current folder, of the library or of `TARGET`: HOST stays C++, DUAL compiles as C++ without CUDA and as CUDA
# with it, CUDA is compiled with CUDA only. PRIVATE_HEADERS are included by sources of the library and by each other: they are
# not installed. All others compile by themselves on a host.
function(stratum_sources)
  cmake_parse_arguments(PARSE_ARGV 0 these "" "TARGET" "HOST;DUAL;CUDA;PRIVATE_HEADERS")
  if(NOT these_TARGET)
    set(these_TARGET stratum)
  endif()
  target_sources(${these_TARGET} PRIVATE ${these_HOST} ${these_DUAL})
  if(STRATUM_CUDA)
    target_sources(${these_TARGET} PRIVATE ${these_CUDA})
    stratum_source_property("${these_DUAL}" LANGUAGE CUDA)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  list(TRANSFORM these_PRIVATE_HEADERS PREPEND ${folder}/)
  set_property(GLOBAL APPEND PROPERTY stratum_private_headers ${these_PRIVATE_HEADERS})
endfunction()

# Properties of a source hold in the folder of its target.
function(stratum_source_property sources property value)
  set_property(SOURCE ${sources} TARGET_DIRECTORY stratum PROPERTY ${property} "${value}")
endfunction()

# What takes longest to compile is instantiated in sources of their own, which are compiled beside each other: STEM_NUMBER.cpp
# for each of the numbers, ARGN, with `body`, in which @number@ stands for it. `kind` is HOST or DUAL.
function(stratum_instantiate kind stem header body)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  foreach(number IN LISTS ARGN)
    string(CONFIGURE "${body}" instances @ONLY)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${number}.cpp)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// Generated.
#include <stratum/@folder@/@header@>

namespace stratum {
@instances@}  // namespace stratum
]])
    stratum_sources(${kind} ${file})
  endforeach()
endfunction()

# One file per smoother, solver, preconditioner and coarse solver: of every source but `smoother.cpp` the stem NAME defines
# register_NAME, and `name`() returns a registry of all.
function(stratum_generate_registry header Registry name)
  set(declarations "")
  set(calls "")
  foreach(source IN LISTS ARGN)
    get_filename_component(stem ${source} NAME_WE)
    if(NOT stem STREQUAL "smoother")
      string(APPEND declarations "void register_${stem}(${Registry}& registry);\n")
      string(APPEND calls "  register_${stem}(registry);\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${name}.cpp @ONLY CONTENT [[
// Generated from the names of files.
#include <stratum/@header@>

namespace stratum {

@declarations@
@Registry@ @name@() {
  @Registry@ registry;
@calls@  return registry;
}

}  // namespace stratum
]])
  stratum_sources(HOST ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
endfunction()

# Headers compiled once, as `compile_as`(target) compiles, for targets that share them. Who shares them waits for their target: it
# is none of the others, which wait for the library.
function(stratum_precompile_headers target compile_as)
  if(STRATUM_PRECOMPILED_HEADERS)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Precompiled headers belong to a target that compiles something.\n")
    add_library(${target} OBJECT ${source})
    cmake_language(CALL ${compile_as} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

function(stratum_share_headers target headers)
  if(TARGET ${headers})
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
