#!/bin/sh
# SPDX-License-Identifier: MIT
# 1,000 random graphs as chain files, run by the command, compared with NumPy on whole arrays (S2): see graphs.py.
set -eu
for python in python3 /usr/bin/python3 none; do # the second in case the first one has no NumPy
    "$python" -c 'import numpy, scipy' 2>/dev/null && break
done
if [ "$python" = none ]; then
    echo "no python3 with numpy and scipy: scripts/setup.sh graphs installs them"
    [ -n "${CI:-}" ] && exit 1 || exit 77
fi
folder=graphs.$$
mkdir "$folder"
cd "$folder"
"$python" "$SOURCE/tests/graphs.py" "$WEIR" # if a graph differs, the folder stays
cd ..
rm -r "$folder"
