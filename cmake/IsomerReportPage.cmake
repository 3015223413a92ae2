# generated/report/page_text.h: the page of a report, src/report/page.{html,css,js}, as texts inside of the program.

set(content "// Generated from src/report/page.html, page.css and page.js.\n#pragma once\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
foreach(kind Html Css Js)
  string(TOLOWER "${kind}" ending)
  set(file "${CMAKE_SOURCE_DIR}/src/report/page.${ending}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  string(APPEND content "inline constexpr char kPage${kind}[] = R\"page(${text})page\";\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/report/page_text.h" @ONLY CONTENT "@content@")
