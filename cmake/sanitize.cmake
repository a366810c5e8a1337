# SPDX-License-Identifier: BSD-2-Clause
# VERBCAST_SANITIZE: a -fsanitize= list, chosen by the presets. Stock programs are
# not instrumented, so `verbcast run` of such a build preloads the runtime first;
# the path of that runtime is asked of the compiler here.
set(VERBCAST_SANITIZE "" CACHE STRING "list for -fsanitize=")
option(VERBCAST_FUZZ "build the libFuzzer targets" OFF)
set(VERBCAST_SANITIZER_RUNTIME "")
if(VERBCAST_SANITIZE)
	add_compile_options(-fsanitize=${VERBCAST_SANITIZE} -fno-sanitize-recover=all)
	add_link_options(-fsanitize=${VERBCAST_SANITIZE})
	# The thread sanitizer does not know fences, and GCC warns at each. Ours stand
	# between atomic accesses, which it takes for races in no case.
	if(VERBCAST_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
		add_compile_options(-Wno-tsan)
	endif()
	if(VERBCAST_SANITIZE MATCHES "address")
		set(_runtimes libasan.so libubsan.so)
	elseif(VERBCAST_SANITIZE MATCHES "thread")
		set(_runtimes libtsan.so)
	endif()
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		foreach(_lib ${_runtimes})
			execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${_lib}
				OUTPUT_VARIABLE _path OUTPUT_STRIP_TRAILING_WHITESPACE)
			file(REAL_PATH "${_path}" _path)
			list(APPEND VERBCAST_SANITIZER_RUNTIME ${_path})
		endforeach()
		list(JOIN VERBCAST_SANITIZER_RUNTIME ":" VERBCAST_SANITIZER_RUNTIME)
	endif()
endif()
