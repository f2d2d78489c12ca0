# SPDX-License-Identifier: MIT
# A menu over Meson and Ninja; `make help` prints it.
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build
# tools/setup.sh installs missing Debian packages; SETUP=true leaves packages alone.
SETUP   ?= tools/setup.sh
SHELL   := /bin/bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := all
.PHONY: all packages demo test test-all soak bench fuzz fmt lint install clean help

all: packages ## build build/silt and build/libsilt.so
	@tools/build.sh $(BUILD) $(PREFIX)

packages:
	@[ -e $(BUILD)/build.ninja -a ! -e $(BUILD)/.pageless ] || $(SETUP) build

demo: ## record the example server and print the report
	@begin_s=$$(date +%s); { [ -e $(BUILD)/build.ninja ] || $(SETUP) demo; } && \
		tools/build.sh $(BUILD) $(PREFIX) silt libsilt.so examples/mqtt_server && \
		tools/demo.sh $(BUILD) && echo "silt: demo: done in $$(($$(date +%s) - begin_s)) s" >&2

test: ## what must hold before a change goes in (under 10 minutes on 2 cores)
	@SETUP="$(SETUP)" tools/test.sh

test-all: ## every tier: sanitizers, the other architecture, fuzzers, services (about an hour)
	@SETUP="$(SETUP)" tools/test.sh --all

soak: ## the tests with the long repetition counts
	@SETUP="$(SETUP)" tools/test.sh --soak

bench: all ## wall and CPU ratios to the bare program and to heaptrack (30 minutes; BENCH=--quick: 2)
	@$(SETUP) bench
	@python3 bench/run.py --build $(BUILD) --plot $(BUILD)/bench/overhead.svg $(BENCH)

fuzz: ## every fuzzer for FUZZ_SECONDS (default 60) each
	@$(SETUP) test
	@tools/fuzz.sh $${FUZZ_SECONDS:-60}

fmt: ## format the C and C++ sources
	@$(SETUP) test
	@python3 tools/lint.py --fix

lint: all ## formatting and clang-tidy
	@$(SETUP) test
	@python3 tools/lint.py --build $(BUILD)

install: all ## install to DESTDIR/PREFIX (PREFIX=/usr/local)
	@meson configure $(BUILD) -Dprefix=$(PREFIX) >/dev/null
	@ninja -C $(BUILD) --quiet >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet

clean: ## remove everything that was built
	@rm -rf $(BUILD) build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16
