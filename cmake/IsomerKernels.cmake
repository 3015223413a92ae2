# generated/compiler/emit/kernels_text.h: src/compiler/emit/kernels/*.h as texts inside of the program, which are written above the code of every compiled model.

set(kernels_folder "${CMAKE_SOURCE_DIR}/src/compiler/emit/kernels")
function(isomer_kernels_text name)  # the files, with an empty line between them, as text ${name} of the generated header
  set(literals "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${kernels_folder}/${file}")
    file(READ "${kernels_folder}/${file}" text)
    if(literals)
      string(APPEND literals " \"\\n\"")
    endif()
    string(APPEND literals "\n    R\"kernels(${text})kernels\"")
  endforeach()
  set(kernels_texts "${kernels_texts}inline constexpr char ${name}[] =${literals};\n" PARENT_SCOPE)
endfunction()

set(kernels_texts "")
isomer_kernels_text(kThreadsText threads.h)
isomer_kernels_text(kKernelsText numbers.h reals.h tile.h lanes.h winograd.h reductions.h)
isomer_kernels_text(kSizesText sizes.h)            # of models whose sizes are open: before all, and behind those of kKernelsText
isomer_kernels_text(kOpenSizesText open_sizes.h)
isomer_kernels_text(kBfloat16Text bfloat16.h)  # behind those, for --precision bf16
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/compiler/emit/kernels_text.h" @ONLY CONTENT
"// Generated from src/compiler/emit/kernels.
#pragma once
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
@kernels_texts@")
