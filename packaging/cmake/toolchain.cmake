# A toolchain file, for projects that are not to be changed: cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchain.cmake
# CMake reads it again for each of its trial projects; the compiler is chosen in the first one only.
get_property(cuweld_in_trial GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT cuweld_in_trial AND NOT CMAKE_CUDA_COMPILER)
    include("${CMAKE_CURRENT_LIST_DIR}/cuweld-config.cmake")
endif()
