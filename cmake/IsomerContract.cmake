# generated/cli/contract_text.h: the section of docs/concepts/equality.md that `isomer prove -v` prints, so that there is one text of it.

set(document "${CMAKE_SOURCE_DIR}/docs/concepts/equality.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${document}")
file(READ "${document}" text)
string(FIND "${text}" "<!-- contract" begin)
string(FIND "${text}" "<!-- /contract -->" end)
if(begin EQUAL -1 OR end EQUAL -1)
  message(FATAL_ERROR "docs/concepts/equality.md has no section between <!-- contract ... --> and <!-- /contract -->")
endif()
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${text}" ${begin} ${length} text)
string(FIND "${text}" "\n" first_line)  # a REGEX REPLACE of "^..." would take every line
math(EXPR first_line "${first_line} + 1")
string(SUBSTRING "${text}" ${first_line} -1 text)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/cli/contract_text.h" @ONLY CONTENT
"// Generated from docs/concepts/equality.md.
#pragma once
inline constexpr char kContractText[] = R\"contract(@text@)contract\";
")
