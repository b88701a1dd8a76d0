# SPDX-License-Identifier: MIT
# A CSV of a million columns is refused in one line, with what is allowed.
. "$SOURCE/tests/cli/_lib.sh"
seq -s, 1000000 >wide.csv
seq -s, 1000000 >>wide.csv
refused 4 "more than 65536 fields" "$WEIR" info wide.csv --rate 1000
