#!/usr/bin/env bash
# A client of two lines builds against the installed tree through pkg-config and through CMake, and runs.
set -euo pipefail
build=$2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/tree" >/dev/null
cat >"$work/client.c" <<'C'
#include <dkho.h>
#include <stdio.h>
int main(void) { return printf("%s %s\n", dkho_version(), dkho_status_text(DKHO_OK)) < 0; }
C
lib=$(dirname "$(find "$work/tree" -name libdkho.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
san=""; if grep -q 'DKHO_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then san="-fsanitize=address,undefined"; fi
# shellcheck disable=SC2046
cc $san -o "$work/client" "$work/client.c" $(pkg-config --cflags --libs dkho)
"$work/client" | grep ' ok$' >"$work/found"
cat >"$work/CMakeLists.txt" <<'M'
cmake_minimum_required(VERSION 3.20)
project(client C)
find_package(dkho REQUIRED)
add_executable(client client.c)
target_link_libraries(client dkho::dkho)
M
cmake -S "$work" -B "$work/b" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_C_FLAGS="$san" >/dev/null
cmake --build "$work/b" >/dev/null
"$work/b/client" | grep ' ok$' >"$work/found"
readelf -d "$lib/libdkho.so" | grep 'SONAME.*libdkho.so.0' >"$work/found"
# Nothing but the public names is visible.
others=$(nm -D --defined-only "$lib/libdkho.so" | awk '{print $3}' | grep -v '^dkho_' || true)
if [ -n "$others" ] && [ -z "$san" ]; then echo "exported beside dkho_*: $others"; exit 1; fi
"$work/tree/bin/dkho" --version
for page in man/man1/dkho.1 man/man1/dkho-mesh.1 bash-completion/completions/dkho zsh/site-functions/_dkho fish/vendor_completions.d/dkho.fish; do
  [ -s "$work/tree/share/$page" ] || { echo "not installed: $page"; exit 1; }
done
echo "1 passed, 0 failed"
