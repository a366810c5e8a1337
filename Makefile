# SPDX-License-Identifier: BSD-2-Clause
# The two commands, and the rest for those who work here. The build proper is CMake
# with the presets release, asan, tsan and fuzz; everything here ends in one of those.
.PHONY: help build demo check soak format bench fuzz install clean
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
SECONDS ?= 60

help:
	@echo 'make demo     three stock receivers and a stock sender, with all set-up'
	@echo 'make check    every test once, with all set-up (at most 30 minutes)'
	@echo 'make soak     the same with full counts; the result goes to docs/testing.md'
	@echo
	@echo 'make build    build/release'
	@echo 'make install  install build/release under PREFIX ($(PREFIX))'
	@echo 'make bench    the table of measurements'
	@echo 'make fuzz     every fuzz target for SECONDS ($(SECONDS)) each'
	@echo 'make format   clang-format over the tree'
	@echo 'make clean    remove build/'

build:
	@scripts/bootstrap build
	@scripts/build release

demo:
	@scripts/bootstrap build demo
	@scripts/build release programs
	@scripts/demo

check:
	@scripts/check

soak:
	@VERBCAST_SCALE=soak scripts/check

bench:
	@scripts/bootstrap build bench
	@scripts/build release
	@scripts/bench

fuzz:
	@scripts/bootstrap build fuzz
	@scripts/fuzz $(SECONDS)

format:
	@scripts/format

install: build
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
