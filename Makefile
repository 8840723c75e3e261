# What people do with this tree; each target is one line of shell or a script that can be read from top to bottom.
# Rust from rustup is preferred to the system's.
export PATH := $(HOME)/.cargo/bin:$(PATH)

TARGET := $(or $(CARGO_TARGET_DIR),target)
BRISK := $(TARGET)/release/brisk
DIST := $(TARGET)/dist

PROGRAMS ?= brisk brisk-lab brisk-session brisk-web
# Of packages: that of this machine, or arm64 or armhf, which are cross-compiled.
HOST_ARCH := $(shell dpkg --print-architecture 2>/dev/null)
ARCH ?= $(HOST_ARCH)
# Of a release.
RELEASE_ARCHS ?= amd64 arm64 armhf
# With the C library inside, for any Linux: STATIC=1.
STATIC ?=
CROSS := $(filter-out $(HOST_ARCH),$(ARCH))
TRIPLE_arm64 := aarch64-unknown-linux-gnu
TRIPLE_armhf := armv7-unknown-linux-gnueabihf
TRIPLE = $(if $(CROSS),$(TRIPLE_$(ARCH)),$(shell rustc -vV | sed -n 's/^host: //p'))
SMALL := $(TARGET)/small$(CROSS:%=-%)$(if $(STATIC),-static)
CARGO := $(if $(CROSS),scripts/cargo-cross $(ARCH),cargo)
SETUP := $(or $(CROSS),programs)
# Packages, pages and completions are made by the programs themselves.
EMULATOR := $(if $(CROSS),qemu-$(if $(filter armhf,$(ARCH)),arm,aarch64))
# Of packages: small, or release, which builds in a fraction of the time, for packages that are not distributed.
PROFILE ?= small
# Release binaries of this machine are those of make build.
NAMED = $(if $(filter-out release,$(PROFILE))$(CROSS)$(STATIC),--target $(TRIPLE))
BUILT = $(TARGET)/$(if $(NAMED),$(TRIPLE)/)$(PROFILE)
# No tables for unwinding, which a panic does not do here, and short relocations (glibc of at least 2.36). No path of
# this machine: the same source gives the same bytes in any folder.
SMALL_FLAGS := -C force-unwind-tables=no -C link-arg=-Wl,-z,pack-relative-relocs \
	--remap-path-prefix=$(CURDIR)=brisk --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=crates

.PHONY: help setup first build small phone run check test audit bench fleet fleet-test kernel-test kernel-bench \
	dist deb tarball android release release-check clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing to build and test (root, Debian), or say what it is
	@scripts/setup

first: ## build brisk alone, as fast as can be; the packages of the rest are fetched meanwhile
	@scripts/setup first
	@scripts/setup fetch & cargo build --release --locked --bin brisk; status=$$?; wait; exit $$status

build: setup ## build the release binaries, quickly
	cargo build --release --locked --bin brisk --bin brisk-lab --bin brisk-web
	ln -sf brisk $(BRISK)d
	@echo "built $(BRISK), which is $(BRISK)d too, $(BRISK)-lab and $(BRISK)-web"

small: ## build the small binaries of packages (PROGRAMS=brisk, ARCH=arm64, STATIC=1; quickly: PROFILE=release)
	@scripts/setup $(SETUP)
	@# A target that is named: the flags are not for what runs during the build.
	$(if $(filter small,$(PROFILE))$(STATIC),RUSTFLAGS='$(if $(filter small,$(PROFILE)),$(SMALL_FLAGS)) \
		$(STATIC:%=-C target-feature=+crt-static)') \
		$(CARGO) build --profile $(PROFILE) $(NAMED) --locked $(PROGRAMS:%=--bin %)
	mkdir -p $(SMALL)
	cp $(PROGRAMS:%=$(BUILT)/%) $(SMALL)/

phone: ## what a phone in virtual time is made of: packages, built quickly, and beside them its kernel
	@scripts/setup phone
	@kernel/build 6.12 >/dev/null & modules=$$!; trap 'kill $$modules' INT TERM; \
	$(MAKE) --no-print-directory deb PROFILE=release SETUP=programs PROGRAMS='brisk brisk-lab brisk-session'; \
	status=$$?; \
	wait $$modules && exit $$status

run: ## from nothing to a report: first this disk, then apps on phones in virtual time
	@scripts/run

check: ## format, lints and the tests next to the code
	@scripts/test check

test: ## everything that has to hold before a change is kept
	@scripts/test

audit: ## licences, origin and advisories of dependencies (builds cargo-deny, once)
	@scripts/setup audit
	@scripts/audit

bench: ## the benchmark of this disk, and how it agrees with fio (about 6 minutes)
	@scripts/bench

fleet: setup ## a simulated study of 2611 devices, from drawn devices to a ranked site (DEVICES=N, SEED=S)
	@scripts/fleet study $(or $(DEVICES),2611) $(or $(SEED),1)

fleet-test: ## all tests of the fleet: 500 kills, 10,000 malformed submissions, a full disk, Spark
	@scripts/setup fleet
	@scripts/fleet test full

kernel-test: ## the kernel parts in a virtual machine: tests of kernel/tests (6.12, 6.1; DEBUG=1: with checks)
	@scripts/kernel-test $(if $(DEBUG),--kernel 6.12-debug)

kernel-bench: ## I/O schedulers on emulated flash in a virtual machine, held against aims (minutes; a repeat is shorter)
	@scripts/kernel-bench

dist: small ## small binaries, man pages and shell completions in target/dist (ARCH=arm64)
	mkdir -p $(DIST)/bin $(DIST)/share/man/man1 $(DIST)/share/man/man8 $(DIST)/share/completions
	cp $(PROGRAMS:%=$(SMALL)/%) $(DIST)/bin/
	ln -sf brisk $(DIST)/bin/briskd
	$(EMULATOR) $(DIST)/bin/brisk man $(DIST)/share/man/man1
	$(EMULATOR) $(DIST)/bin/brisk-lab man $(DIST)/share/man/man1
	mv $(DIST)/share/man/man1/*.8 $(DIST)/share/man/man8/
	for shell in bash zsh fish; do \
		$(EMULATOR) $(DIST)/bin/brisk completions $$shell >$(DIST)/share/completions/brisk.$$shell || exit; \
	done

deb: small ## Debian packages in target/dist: brisk, brisk-session, -web, -lab; scheduler for DKMS (ARCH=arm64)
	@scripts/setup deb
	DEB_HOST_ARCH=$(ARCH) DEB_QUICKLY=$(if $(filter release,$(PROFILE)),1) packaging/deb $(TARGET) $(PROGRAMS)
	packaging/dkms-deb $(TARGET)

tarball: ## archive with static programs and an install script in target/dist, for any Linux (ARCH=arm64 or armhf)
	$(MAKE) --no-print-directory small STATIC=1 PROGRAMS='brisk brisk-session brisk-web'
	@scripts/setup deb
	DEB_HOST_ARCH=$(ARCH) packaging/tarball $(TARGET)

android: ## module for rooted Android (Magisk, KernelSU, APatch) in target/android, of static programs for arm64
	$(MAKE) --no-print-directory small STATIC=1 ARCH=arm64 PROGRAMS=brisk
	@scripts/setup android
	packaging/android/build $(TARGET)

UNKNOWN_ARCHS = $(filter-out amd64 arm64 armhf,$(RELEASE_ARCHS))
release: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
release: ## what is published, in target/release-VERSION (RELEASE_ARCHS='amd64 arm64', MINISIGN_KEY=FILE, APT_KEY=ID)
	$(if $(UNKNOWN_ARCHS),$(error RELEASE_ARCHS has $(UNKNOWN_ARCHS): it takes amd64, arm64 and armhf))
	@scripts/setup release
	for arch in $(RELEASE_ARCHS); do \
		programs='$(PROGRAMS)'; \
		[ $$arch != armhf ] || programs='$(filter-out brisk-lab,$(PROGRAMS))'; \
		$(MAKE) --no-print-directory deb ARCH=$$arch PROGRAMS="$$programs" && \
		$(MAKE) --no-print-directory tarball ARCH=$$arch || exit; \
	done
	$(if $(filter arm64,$(RELEASE_ARCHS)),$(MAKE) --no-print-directory android)
	PROGRAMS='$(PROGRAMS)' packaging/release $(TARGET) $(RELEASE_ARCHS)

release-check: ## that two builds of this commit are the same, byte for byte (paths, time, user; 20 minutes)
	scripts/release-check

clean: ## remove what was built
	cargo clean
