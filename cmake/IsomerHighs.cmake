# ISOMER_HIGHS: the library of HiGHS, which solves integer programs. It is loaded when --strategy saturate asks for it; without it the
# build is the same, and that strategy chooses less exactly and says so. Empty: only a library that the system's loader finds.

file(GLOB found "${ISOMER_DEPS}/venv/lib/python3*/site-packages/highspy/libhighs.so.1")
set(ISOMER_HIGHS "${found}" CACHE FILEPATH "libhighs.so.1, of the wheel that tools/setup installs")
if(NOT ISOMER_HIGHS)
  message(STATUS "no libhighs.so.1 below ${ISOMER_DEPS}: --strategy saturate extracts greedily, unless the system has it")
endif()
