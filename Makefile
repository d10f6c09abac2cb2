# SPDX-License-Identifier: Apache-2.0
# The front door: what a person types. The build itself is meson's (meson.build).
#
#   make            build build/godwit and what belongs to it
#   make serve      install what is missing, build, serve examples/www on http://127.0.0.1:8080 (PORT=)
#   make check      install what is missing, build, run all tests; at most 15 minutes on two cores
#   make check-all  the deep tests (applications in a browser), the same under sanitizers, the fuzzers (60 s each), linters
#   make install    DESTDIR= and prefix= are known
#   make format     clang-format over all C files
#   make man        the manual pages
#   make bench      side-by-side figures
#   make clean

BUILD ?= build
prefix ?= /usr/local
FUZZ_SECONDS ?= 60
PORT ?= 8080
MESON_FLAGS ?=

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(prefix) $(MESON_FLAGS)

deps:
	@tools/install-deps build

serve:
	@tools/install-deps build examples
	@$(MAKE) --no-print-directory all
	@tools/serve $(BUILD) $(PORT)

check:
	@tools/install-deps build examples test
	@$(MAKE) --no-print-directory all
	@tools/check $(BUILD)

check-all:
	@tools/install-deps build examples test all
	@tools/deep-check $(FUZZ_SECONDS)

install: all
	@meson configure $(BUILD) -Dprefix=$(prefix)
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint:
	@tools/lint $(BUILD)

man: all
	@tools/make-man $(BUILD)

bench: all
	@bench/run $(BUILD)

clean:
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz

.PHONY: all deps serve check check-all install format lint man bench clean
