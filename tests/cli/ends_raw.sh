# SPDX-License-Identifier: MIT
# How a run to .raw ends: _ends.sh says what is looked at.
. "$SOURCE/tests/cli/_ends.sh"
ends raw --format raw --dtype f32 --channels-in-file 64 --rate 100
