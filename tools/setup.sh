#!/usr/bin/env bash
# Installs the Debian packages that building, testing or benchmarking needs and that are missing. Says what it does,
# asks nothing (but sudo may), works as root or with sudo. Usage: tools/setup.sh [build] [lint] [compare] [oracle] [fuzz] [hard] [arm] [mpi] [mpich]
set -euo pipefail
build="gcc make cmake ninja-build pkg-config libopenblas-dev liblapack-dev libsuitesparse-dev libsuperlu-dev libarpack2-dev libqhull-dev libmetis-dev
       librandom123-dev libjansson-dev libcairo2-dev libcmocka-dev zlib1g-dev fonts-dejavu-core"
mpi="libopenmpi-dev openmpi-bin"
mpich="libmpich-dev mpich"
lint="clang-format clang-tidy"
fuzz="clang libclang-rt-14-dev"
hard="valgrind lcov"
arm="gcc-aarch64-linux-gnu qemu-user $(printf '%s:arm64 ' libopenblas-dev liblapack-dev libsuitesparse-dev libsuperlu-dev libarpack2-dev \
     libqhull-dev libmetis-dev libjansson-dev libcairo2-dev libcmocka-dev zlib1g-dev)"
compare="python3 python3-numpy python3-scipy python3-meshio python3-lxml python3-vtk9 python3-pytest python3-pip
         python3-setuptools python3-wheel gfortran chromium chromium-driver"
oracle="python3 python3-numpy python3-scipy python3-torch python3-meshio python3-lxml python3-vtk9 gmsh"
wanted=""
for group in "${@:-build}"; do
  case $group in
    build|lint|fuzz|hard|compare|oracle|arm|mpi|mpich) wanted+=" ${!group}" ;;
    *) echo "setup: unknown group '$group' (build, lint, fuzz, hard, compare, oracle, arm, mpi, mpich)" >&2; exit 2 ;;
  esac
done
missing=""
for package in $wanted; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=" $package"
done
[ -n "$missing" ] || exit 0
echo "setup: installing$missing"
run=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "setup: not root and no sudo; please install:$missing" >&2; exit 1; }
  run="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
case $missing in *:arm64*) $run dpkg --add-architecture arm64 ;; esac
$run apt-get -qq -o Acquire::Retries=3 update >/dev/null
# shellcheck disable=SC2086
$run env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=3 install --no-install-recommends $missing >/dev/null
echo "setup: done"
