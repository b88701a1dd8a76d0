#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs the peers of `weir bench` as far as possible, into BUILD/bench, and notes why the
# others could not be installed: bench_setup.sh BUILD. Never fails: the bench also works with fewer peers.
# It does not change what weir is built with: libraries come from Debian, Python packages into a venv.
set -u

build=$1
source=$(pwd)
bench="$build/bench"
mkdir -p "$bench"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

skip() { # skip PEER REASON
    printf '%s\n' "$2" >"$bench/$1.skipped"
    echo "weir bench: $1 is left out: $2"
}

as_root=""
may_install=1
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo -n"
    $as_root true 2>/dev/null || may_install=0
fi
command -v apt-get >/dev/null 2>&1 || may_install=0

apt_install() { # apt_install PACKAGE
    [ "$may_install" -eq 1 ] || return 1
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" \
        </dev/null >"$log" 2>&1 && return 0
    $as_root apt-get update -qq </dev/null >"$log" 2>&1
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" \
        </dev/null >"$log" 2>&1
}

# C peers: bench/CMakeLists.txt builds them if their header is installed.
configure_again=0
c_peer() { # c_peer PEER HEADER PACKAGE
    rm -f "$bench/$1.skipped"
    [ -e "/usr/include/$2" ] && return
    echo "weir bench: installing $3"
    if apt_install "$3"; then
        configure_again=1
    else
        skip "$1" "Debian package $3 could not be installed"
    fi
}
c_peer rtfilter rtf_common.h librtfilter-dev
c_peer liquid liquid/liquid.h libliquid-dev
[ "$configure_again" -eq 0 ] || cmake "$build" >/dev/null 2>&1

# Allocators: alloc_stream preloads them, and lists missing ones itself.
allocator() { # allocator LIBRARY PACKAGE
    [ -n "$(find /usr/lib /usr/local/lib -name "$1" 2>/dev/null | head -n 1)" ] && return
    echo "weir bench: installing $2"
    apt_install "$2" || echo "weir bench: Debian package $2 could not be installed"
}
allocator libtcmalloc_minimal.so.4 libtcmalloc-minimal4
allocator libmimalloc.so.2 libmimalloc2.0
allocator libjemalloc.so.2 libjemalloc2

# Python peers: a venv of their own, and a wrapper each, so that the bench starts all peers in the same way.
venv="$build/bench-venv"
wanted="numpy scipy pyyaml ezmsg ezmsg-sigproc==3.11.1"
reason=""
if ! "$venv/bin/python" -c 'import scipy, yaml, ezmsg.sigproc' >/dev/null 2>&1; then
    echo "weir bench: making a Python environment with $wanted"
    if ! python3 -c 'import venv, ensurepip' >/dev/null 2>&1 && ! apt_install python3-venv; then
        reason="python3-venv could not be installed"
    elif ! python3 -m venv "$venv" >"$log" 2>&1; then
        reason="python3 -m venv failed: $(tail -n 1 "$log")"
    else
        # shellcheck disable=SC2086 # a list of words
        "$venv/bin/pip" install -q --disable-pip-version-check $wanted </dev/null >"$log" 2>&1 ||
            reason="pip could not install it: $(grep -v '^$' "$log" | tail -n 1)"
    fi
fi
python_peer() { # python_peer PEER MODULE
    rm -f "$bench/$1.skipped" "$bench/$1"
    if ! "$venv/bin/python" -c "import $2" >/dev/null 2>&1; then
        skip "$1" "${reason:-Python module $2 cannot be imported}"
        return
    fi
    # OPENBLAS_*: set on some machines for old builds; they would slow the peer down.
    cat >"$bench/$1" <<WRAPPER
#!/bin/sh
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
exec "$(cd "$venv" 2>/dev/null && pwd)/bin/python" "$source/bench/peers/$1.py" "\$@"
WRAPPER
    chmod +x "$bench/$1"
}
# A package of its own: if it has no wheel the others are still installed.
if ! "$venv/bin/python" -c 'import mlx.core' >/dev/null 2>&1; then
    "$venv/bin/pip" install -q --disable-pip-version-check "mlx[cpu]==0.32.4" </dev/null >"$log" 2>&1 ||
        reason="pip could not install mlx: $(grep -v '^$' "$log" | tail -n 1)"
fi
python_peer mlx_cache mlx.core
reason=""
python_peer ezmsg_sigproc ezmsg.sigproc
python_peer scipy_sos scipy.signal
python_peer ezmsg_unit "yaml, ezmsg.sigproc"
python_peer scipy_unit scipy.signal
exit 0
