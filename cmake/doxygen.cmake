# API reference by Doxygen: target docs, in <build>/html; any warning is an error.
find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  message(STATUS "stratum: API reference (target docs): on, by Doxygen ${DOXYGEN_VERSION}")
  # A header opens with a plain comment: paragraphs, and formulas and pictures, which are indented and stay as they are set.
  file(CONFIGURE OUTPUT doxygen.sed @ONLY CONTENT [[
2s|^$|/*! \\file|
3,/^$/{
s|^$|*/|
s|^// \{0,1\}||
/^ \{4,\}/!s|[#<>@\\]|\\&|g
s|\\>::|\\>\\::|g
}
]])
  file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS core/*.hpp mesh/*.hpp assembly/*.hpp smoothers/*.hpp multigrid/*.hpp
    solvers/*.hpp)
  get_property(headers_of_components GLOBAL PROPERTY stratum_component_headers)
  list(APPEND public_headers ${headers_of_components})
  set(DOXYGEN_PROJECT_BRIEF "C++ reference; docs/reference/api.md is where to begin")
  set(DOXYGEN_EXCLUDE_SYMLINKS YES)  # the include folder is one
  set(DOXYGEN_STRIP_FROM_PATH ${PROJECT_SOURCE_DIR})
  set(DOXYGEN_FILTER_PATTERNS "*.hpp=sed -f ${CMAKE_CURRENT_BINARY_DIR}/doxygen.sed")
  set(DOXYGEN_EXTRACT_ALL YES)
  set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
  set(DOXYGEN_MACRO_EXPANSION YES)
  set(DOXYGEN_EXPAND_ONLY_PREDEF YES)
  set(DOXYGEN_PREDEFINED STRATUM_HOST_DEVICE= STRATUM_INLINE=inline STRATUM_SIMD_CLONES=)
  set(DOXYGEN_GENERATE_TREEVIEW YES)
  set(DOXYGEN_HAVE_DOT NO)
  set(DOXYGEN_QUIET YES)
  set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
  doxygen_add_docs(docs ${public_headers})
else()
  message(STATUS "stratum: API reference (target docs): off, doxygen was not found")
endif()
