# find_package(cuweld): device code is linked with cuweld.
#
#   list(APPEND CMAKE_PREFIX_PATH ...)          where cuweld is installed, if it is not on PATH
#   find_package(cuweld REQUIRED)               before project() or enable_language(CUDA), so that nvcc is still to be chosen
#   project(p LANGUAGES CXX CUDA)
#   set_target_properties(t PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
#
# It makes a folder in which nvcc is the toolkit's and nvlink is cuweld (cuweld shim), in the build tree, and lets CMake take the
# compiler from there. Variables:
#
#   CUWELD_EXECUTABLE   the program
#   CUWELD_TOOLKIT      the CUDA toolkit, if not the one that CUDA_HOME or PATH leads to
#   CUWELD_MESSAGES     rich (the default) or nvlink, for tools that look for NVIDIA's wording
#   CUWELD_NVCC         the compiler of the folder, which is CMAKE_CUDA_COMPILER now

find_program(CUWELD_EXECUTABLE cuweld
    HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin" "$ENV{VIRTUAL_ENV}/bin" "$ENV{VIRTUAL_ENV}/Scripts")
include(FindPackageHandleStandardArgs)
if(CUWELD_EXECUTABLE)
    execute_process(COMMAND "${CUWELD_EXECUTABLE}" --version OUTPUT_VARIABLE cuweld_version_text)
    string(REGEX MATCH "cuweld ([0-9.]+)" cuweld_version_text "${cuweld_version_text}")
    set(cuweld_VERSION "${CMAKE_MATCH_1}")
endif()
find_package_handle_standard_args(cuweld REQUIRED_VARS CUWELD_EXECUTABLE VERSION_VAR cuweld_VERSION)
if(NOT cuweld_FOUND)
    return()
endif()

get_property(cuweld_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CUDA" IN_LIST cuweld_languages)
    message(WARNING "find_package(cuweld) comes too late: the CUDA compiler ${CMAKE_CUDA_COMPILER} is chosen already. Call it before project() or enable_language(CUDA).")
    return()
endif()

if(NOT DEFINED CUWELD_MESSAGES)
    set(CUWELD_MESSAGES rich)
endif()
set(cuweld_arguments shim "${CMAKE_BINARY_DIR}/cuweld-shim" "--messages=${CUWELD_MESSAGES}")
if(CUWELD_TOOLKIT)
    list(APPEND cuweld_arguments "--toolkit=${CUWELD_TOOLKIT}")
endif()
execute_process(COMMAND "${CUWELD_EXECUTABLE}" ${cuweld_arguments} RESULT_VARIABLE cuweld_status OUTPUT_QUIET ERROR_VARIABLE cuweld_problem)
if(NOT cuweld_status EQUAL 0)
    message(FATAL_ERROR "cuweld shim failed:\n${cuweld_problem}")
endif()
find_program(CUWELD_NVCC nvcc PATHS "${CMAKE_BINARY_DIR}/cuweld-shim" NO_DEFAULT_PATH)
set(CMAKE_CUDA_COMPILER "${CUWELD_NVCC}" CACHE FILEPATH "nvcc, with cuweld as its linker" FORCE)
