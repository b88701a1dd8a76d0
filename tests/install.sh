# SPDX-License-Identifier: MIT
# The installed files can be used by other programs: by pkg-config, by CMake's find_package, each library shared and
# static; weir-core needs libc, libm and threads only; and only the public headers are installed.
set -eu
build=$(dirname "$WEIR")
if grep -q '^WEIR_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo "skipped: a sanitized library cannot be linked by a plain program"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/weir" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

ls "$SOURCE/include/weir" >"$work/source"
ls "$work/weir/include/weir" >"$work/installed"
cmp "$work/source" "$work/installed"
[ -s "$work/weir/share/man/man1/weir.1" ]
"$work/weir/bin/weir" --version >/dev/null
# The program that reads HDF5 is found where it was installed.
if "$work/weir/bin/weir" --version | grep -q "^  hdf5  *read"; then
    echo "[]" >"$work/copy.yaml"
    (cd / && "$work/weir/bin/weir" run "$work/copy.yaml" synthetic:channels=2,rate=100,seconds=1,seed=1 \
        -o "$work/x.h5" && PATH="$work/weir/bin:$PATH" weir info "$work/x.h5") >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
fi

PKG_CONFIG_PATH=$(dirname "$(find "$work/weir" -name weir.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # lists of words
cc "$SOURCE/examples/embed.c" -o "$work/embed" $(pkg-config --cflags --libs weir)
lib=$(pkg-config --variable=libdir weir)
LD_LIBRARY_PATH=$lib "$work/embed" | grep -q 'deviation of channel 0'
# Statically, with only the static library present (else the linker uses the shared one).
mkdir "$work/only"
cp -r "$lib"/*.a "$lib/pkgconfig" "$work/only"
sed -i "s,^libdir=.*,libdir=$work/only," "$work"/only/pkgconfig/*.pc
# shellcheck disable=SC2046
(
    PKG_CONFIG_PATH=$work/only/pkgconfig
    cc "$SOURCE/examples/embed.c" -o "$work/embed_a" $(pkg-config --static --cflags --libs weir)
)
"$work/embed_a" | grep -q 'deviation of channel 0'

# weir-core, shared and fully static.
# shellcheck disable=SC2046
cc "$SOURCE/examples/embed.c" -o "$work/core" $(pkg-config --cflags --libs weir-core)
LD_LIBRARY_PATH=$lib "$work/core" | grep -q 'deviation of channel 0'
for found in $(readelf -d "$lib/libweir-core.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $found in
    libc.so.* | libm.so.* | libmvec.so.* | libpthread.so.* | ld-linux*) ;;
    *) echo "libweir-core.so needs $found"; exit 1 ;;
    esac
done
# shellcheck disable=SC2046
cc -static "$SOURCE/examples/embed.c" -o "$work/core_a" $(pkg-config --static --cflags --libs weir-core)
"$work/core_a" | grep -q 'deviation of channel 0'
[ "$(pkg-config --modversion weir)" = "$(pkg-config --modversion weir-core)" ]

# The name that a program is bound to carries the version of the interface.
readelf -d "$work/embed" | grep -q 'libweir.so.0'

mkdir "$work/app"
cat >"$work/app/CMakeLists.txt" <<APP
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(weir 0.1 REQUIRED)
add_executable(shared $SOURCE/examples/embed.c)
target_link_libraries(shared PRIVATE weir::weir)
add_executable(static $SOURCE/examples/embed.c)
target_link_libraries(static PRIVATE weir::weir_static)
add_executable(core $SOURCE/examples/embed.c)
target_link_libraries(core PRIVATE weir::weir_core)
add_executable(core_static $SOURCE/examples/embed.c)
target_link_libraries(core_static PRIVATE weir::weir_core_static)
APP
cmake -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$work/weir" >"$work/log" 2>&1 &&
    cmake --build "$work/app/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for program in shared static core core_static; do
    "$work/app/build/$program" | grep -q 'deviation of channel 0'
done
