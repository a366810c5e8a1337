# SPDX-License-Identifier: BSD-2-Clause
# Warnings are errors in every preset: a warning that may be ignored will be.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/verbcast)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")
add_compile_options(
	-Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes
	-Wwrite-strings -Wshadow -Wold-style-definition -Wredundant-decls
	-Wformat=2 -Wundef -Wno-unused-parameter -fno-strict-aliasing)
# A shim's thread-local variables lie in the static block: else each access may call into
# the loader, which the shim would then need besides libc.
add_compile_options(-ftls-model=initial-exec)
add_compile_definitions(_GNU_SOURCE VERBCAST_VERSION="${PROJECT_VERSION}")
