# SPDX-License-Identifier: MIT
# How a run to .npy ends: _ends.sh says what is looked at.
. "$SOURCE/tests/cli/_ends.sh"
ends npy --format npy --rate 100
