# generated/lower/kernels_text.h: src/lower/kernels/kernels.h as a text inside of the program, which is written above the code of every compiled model.

set(kernels "${CMAKE_SOURCE_DIR}/src/lower/kernels/kernels.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${kernels}")
file(READ "${kernels}" text)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/lower/kernels_text.h" @ONLY CONTENT
"// Generated from src/lower/kernels/kernels.h.
#pragma once
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
inline constexpr char kKernelsText[] = R\"kernels(@text@)kernels\";
")
