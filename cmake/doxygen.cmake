# API reference by Doxygen: target docs, in <build>/html; any warning is an error.
find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  message(STATUS "stratum: API reference (target docs): on, by Doxygen ${DOXYGEN_VERSION}")
  # A header opens with a plain comment, formulas and pictures in it: shown as it stands.
  file(CONFIGURE OUTPUT doxygen.sed @ONLY CONTENT [[
2s|^$|/*! \\file\n\\verbatim|
3,/^$/{
s|^$|\\endverbatim */|
s|^// \{0,1\}||
}
]])
  file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS core/*.hpp mesh/*.hpp assembly/*.hpp smoothers/*.hpp multigrid/*.hpp
    solvers/*.hpp)
  get_property(headers_of_components GLOBAL PROPERTY stratum_component_headers)
  list(APPEND public_headers ${headers_of_components})
  file(GLOB pages CONFIGURE_DEPENDS *.md docs/*/*.md)
  set(DOXYGEN_USE_MDFILE_AS_MAINPAGE README.md)
  set(DOXYGEN_IMAGE_PATH ${PROJECT_SOURCE_DIR}/docs/pictures ${PROJECT_SOURCE_DIR}/apps/bench/results)
  set(DOXYGEN_EXCLUDE_SYMLINKS YES)  # the include folder is one
  set(DOXYGEN_STRIP_FROM_PATH ${PROJECT_SOURCE_DIR})
  # Doxygen gives headings other anchors than GitHub does: links lead to pages.
  file(CONFIGURE OUTPUT doxygen_pages.sed @ONLY CONTENT [=[
s|\.md#[^)]*)|.md)|g
s|\[\([^]]*\)\](#[^)]*)|\1|g
]=])
  set(DOXYGEN_FILTER_PATTERNS "*.hpp=sed -f ${CMAKE_CURRENT_BINARY_DIR}/doxygen.sed"
    "*.md=sed -f ${CMAKE_CURRENT_BINARY_DIR}/doxygen_pages.sed")
  set(DOXYGEN_EXTRACT_ALL YES)
  set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
  set(DOXYGEN_MACRO_EXPANSION YES)
  set(DOXYGEN_EXPAND_ONLY_PREDEF YES)
  set(DOXYGEN_PREDEFINED STRATUM_HOST_DEVICE= STRATUM_INLINE=inline STRATUM_SIMD_CLONES=)
  set(DOXYGEN_GENERATE_TREEVIEW YES)
  set(DOXYGEN_HAVE_DOT NO)
  set(DOXYGEN_QUIET YES)
  set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
  doxygen_add_docs(docs ${pages} ${public_headers})
else()
  message(STATUS "stratum: API reference (target docs): off, doxygen was not found")
endif()
