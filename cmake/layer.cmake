# SPDX-License-Identifier: BSD-2-Clause
# A layer is a folder of src/, a static library vc_NAME and one include directory.
#
#   verbcast_layer(NAME [DIR dir] USES layer... [LIBS target...])
#
# Its headers are seen as "NAME/header.h" by the targets that use the layer and by
# nobody else: the include directory holds one link, to the layer's own folder, so a
# forbidden #include does not compile (tests/checks shows it). docs/architecture.md
# holds the table of who may use whom.
function(verbcast_layer name)
	cmake_parse_arguments(L "" "DIR" "USES;LIBS" ${ARGN})
	if(NOT L_DIR)
		set(L_DIR ${name})
	endif()
	set(dir ${CMAKE_SOURCE_DIR}/src/${L_DIR})
	set(view ${CMAKE_BINARY_DIR}/layers/${name})
	get_filename_component(parent ${view}/${L_DIR} DIRECTORY)
	file(MAKE_DIRECTORY ${parent})
	file(CREATE_LINK ${dir} ${view}/${L_DIR} SYMBOLIC)
	file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.c)
	if(sources)
		add_library(vc_${name} STATIC ${sources})
		set(scope PUBLIC)
	else()
		add_library(vc_${name} INTERFACE)
		set(scope INTERFACE)
	endif()
	target_include_directories(vc_${name} ${scope} ${view})
	foreach(used ${L_USES})
		target_link_libraries(vc_${name} ${scope} vc_${used})
	endforeach()
	target_link_libraries(vc_${name} ${scope} ${L_LIBS})
	set_property(GLOBAL APPEND PROPERTY VERBCAST_LAYERS ${name})
	set_property(GLOBAL PROPERTY VERBCAST_LAYER_DIR_${name} ${L_DIR})
endfunction()
