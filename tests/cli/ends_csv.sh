# SPDX-License-Identifier: MIT
# How a run to .csv ends: _ends.sh says what is looked at.
. "$SOURCE/tests/cli/_ends.sh"
ends csv --format csv --rate 100
