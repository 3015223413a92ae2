# Files of rules/ as texts inside of the program, so that it finds them wherever it is installed.

# isomer_embedded_text(file header name): generated/<header> has the text of rules/<file> as the constant <name>.
function(isomer_embedded_text file header name)
  set(source "${CMAKE_SOURCE_DIR}/rules/${file}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/${header}" @ONLY CONTENT
"// Generated from rules/@file@.
#pragma once
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
inline constexpr char @name@[] = R\"generated(@text@)generated\";
")
endfunction()

isomer_embedded_text(generated.rules rules/text/generated_text.h kGeneratedText)
