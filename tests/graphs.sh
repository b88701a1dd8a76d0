#!/bin/sh
# SPDX-License-Identifier: MIT
# 1,000 random graphs as chain files, run by the command, against NumPy over whole arrays (S2): see graphs.py.
set -eu
for python in python3 /usr/bin/python3 none; do # the second where another comes first and has no NumPy
    "$python" -c 'import numpy, scipy' 2>/dev/null && break
done
if [ "$python" = none ]; then
    echo "no python3 with numpy and scipy: scripts/setup.sh graphs installs them"
    [ -n "${CI:-}" ] && exit 1 || exit 77
fi
folder=graphs.$$
mkdir "$folder"
cd "$folder"
"$python" "$SOURCE/tests/graphs.py" "$WEIR" # where a graph differs, the folder stays
cd ..
rm -r "$folder"
