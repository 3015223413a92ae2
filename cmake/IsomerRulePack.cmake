# generated/rules/generated_text.h: rules/generated.rules as a text inside of the program, so that it finds its rules wherever it is installed.

set(pack "${CMAKE_SOURCE_DIR}/rules/generated.rules")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${pack}")
file(READ "${pack}" text)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/rules/generated_text.h" @ONLY CONTENT
"// Generated from rules/generated.rules.
#pragma once
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
inline constexpr char kGeneratedText[] = R\"generated(@text@)generated\";
")

# generated/search/prior_text.h: rules/prior.txt, in the same way.
set(prior "${CMAKE_SOURCE_DIR}/rules/prior.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${prior}")
file(READ "${prior}" text)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/search/prior_text.h" @ONLY CONTENT
"// Generated from rules/prior.txt.
#pragma once
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
inline constexpr char kPriorText[] = R\"generated(@text@)generated\";
")
