# Thin front door to CMake. `make test` and `make demo` install what is missing by themselves.
.PHONY: all setup compare build test test-asan test-hard test-mpi test-mpich test-tsan test-arm asan demo bench lint format fuzz fixtures install clean
PREFIX ?= /usr/local

all: build

# NOSETUP=1: nothing is installed.
compare:
	@[ -n "$(NOSETUP)" ] || tools/setup.sh build compare

setup:
	@[ -n "$(NOSETUP)" ] || tools/setup.sh build

build: setup
	@cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset release $(ONLY)

test: compare build
	@ctest --preset release

asan: setup
	@cmake --preset asan >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset asan

test-asan: asan
	@ctest --preset asan

# Hours: the long forms of what `make test` does in short. STAGES="faults kill …": some of them (tools/hard.sh).
test-hard: compare
	@tools/setup.sh build lint fuzz hard
	@tools/hard.sh $(STAGES)

# The tests that MPI's launcher starts; they are part of `make test` where MPI was there when CMake looked.
test-mpi:
	@[ -n "$(NOSETUP)" ] || tools/setup.sh build mpi
	@cmake --preset release -UMPI_* >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset release
	@ctest --preset release -R '^(mpi_|t_comm|t_sum_tree|t_ranks|t_parts)'

# The same with MPICH, beside Open MPI if that is there too, in a build of its own: a program, its launcher and the module must belong to one MPI.
test-mpich:
	@[ -n "$(NOSETUP)" ] || tools/setup.sh build mpich
	@cmake --preset release -B build/mpich -DMPI_C_COMPILER=mpicc.mpich -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build build/mpich
	@ctest --test-dir build/mpich --output-on-failure -R '^(mpi_|t_comm)'

test-tsan: setup
	@cmake --preset tsan >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset tsan
	@ctest --preset tsan

test-arm:
	@tools/setup.sh build arm
	@cmake --preset arm >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }; rm -f build-configure.log
	@cmake --build --preset arm
	@ctest --preset arm

demo: ONLY = --target dkho
demo: build
	@build/release/dkho demo

bench: build
	@build/release/dkho bench

lint:
	@tools/setup.sh build lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

fuzz:
	@tools/setup.sh build fuzz
	@tools/fuzz.sh

fixtures:
	@tools/setup.sh build oracle
	@tools/fixtures.sh

install: ONLY = --target dkho_cli --target dkho_pages
install: build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	@rm -rf build
