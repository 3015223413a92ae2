# generated/compiler/emit/kernels_text.h: src/compiler/emit/kernels/*.h as texts inside of the program, which are written above the code of every compiled model.

set(kernels_folder "${CMAKE_SOURCE_DIR}/src/compiler/emit/kernels")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${kernels_folder}/kernels.h" "${kernels_folder}/threads.h")
file(READ "${kernels_folder}/kernels.h" text)
file(READ "${kernels_folder}/threads.h" threads_text)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/compiler/emit/kernels_text.h" @ONLY CONTENT
"// Generated from src/compiler/emit/kernels.
#pragma once
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
inline constexpr char kKernelsText[] = R\"kernels(@text@)kernels\";
inline constexpr char kThreadsText[] = R\"kernels(@threads_text@)kernels\";
")
