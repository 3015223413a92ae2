# How every file of ours is compiled. Nothing here knows the folders of src/.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # clang-tidy and editors read it
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()
# -O2, not CMake's -O3: evaluation and normal forms set -O3 themselves (IsomerTargets), the rest only grows by it.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(ISOMER_SANITIZE "" CACHE STRING "Value of -fsanitize= for every target, e.g. address,undefined")
option(ISOMER_FUZZ "Build src/**/*_fuzz.cpp as libFuzzer executables (needs clang)" OFF)
# Hides a missing #include, so that it is off where that should be seen: in what users run.
option(ISOMER_PRECOMPILE "Precompile the headers of libraries, which takes a quarter off a build" OFF)
# For builds that begin with nothing, as in CI: a change to one file compiles its whole group anew.
option(ISOMER_TOGETHER "Compile files of a folder that share no private name as one, which makes a build shorter" OFF)
option(ISOMER_WERROR "Warnings are errors in our own code" ON)

# Where tools/setup puts what the distribution doesn't have.
set(ISOMER_DEPS "${CMAKE_SOURCE_DIR}/.deps" CACHE PATH "Folder filled by tools/setup")
list(PREPEND CMAKE_PREFIX_PATH "${ISOMER_DEPS}")

find_program(ISOMER_CCACHE ccache)
if(ISOMER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the checkout are hashed relative to it: another clone of the same sources hits the same cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${ISOMER_CCACHE}")
endif()

find_program(ISOMER_MOLD mold)
if(ISOMER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# A product and a sum stay two roundings on every machine: results must not depend on the CPU that built them.
add_compile_options(-ffp-contract=off)

# Sources are named as in the tree: whole paths belong to the machine that builds.
add_compile_options("-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")

# What reads files of strangers is hardened: tests/suites/hardened_test.py looks at the programs. Sanitizers do more, and not beside it.
if(NOT ISOMER_SANITIZE)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fcf-protection)
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)  # needs optimisation
  endif()
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()

if(ISOMER_SANITIZE)
  add_compile_options("-fsanitize=${ISOMER_SANITIZE}" -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${ISOMER_SANITIZE}")
  if(ISOMER_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)  # a report is a failed test, not a line in a log
  endif()
endif()
if(ISOMER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ISOMER_FUZZ needs clang: libFuzzer is part of it")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Warnings for our own targets; generated and third-party code doesn't link this.
add_library(isomer_warnings INTERFACE)
target_compile_options(isomer_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${ISOMER_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns wrongly about `"text" + std::string` (GCC bug 105651).
  target_compile_options(isomer_warnings INTERFACE -Wno-restrict)
  if(ISOMER_SANITIZE)
    # GCC's manual: with sanitizers on, this warning has false positives.
    target_compile_options(isomer_warnings INTERFACE -Wno-maybe-uninitialized)
  endif()
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang's -Wconversion includes it, GCC's doesn't: require the same of both.
  target_compile_options(isomer_warnings INTERFACE -Wno-sign-conversion)
endif()
