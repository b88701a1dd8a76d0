# SPDX-License-Identifier: MIT
# An invalid chain: one line with file, line and column, exit 3, no output file, no .part.
. "$SOURCE/tests/cli/_lib.sh"
input=synthetic:channels=4,rate=30000,seconds=1,seed=1
try() { # PART TEXT
    printf '%b' "$2" >c.yaml
    refused 3 "$1" "$WEIR" run c.yaml "$input" -o clean/out.npy
    refused 3 "$1" "$WEIR" plan c.yaml "$input"
}
try "c.yaml:2:5: no unit 'butterwort'" 'chain:\n  - butterwort: {order: 4}\n'
grep -q "butterworth" err
try "c.yaml:1:27: butterworth: cutoff: 20000 Hz" '[{butterworth: {order: 4, cutoff: 20 kHz}}]\n'
grep -q "15000 Hz" err
try "c.yaml:3:7: binned_aggregate: bin_duration: " '\n- binned_aggregate:\n      bin_duration: 10 Hz\n'
try "c.yaml:3:1: found the key 'chain' again; its first use is at line 1, column 1" 'chain: []\n\nchain: []\n'
try "c.yaml:1:22: found the key 'exponent' again" '- pow: {exponent: 2, exponent: 3}\n'
try "c.yaml:1:9: pow: " '- pow: {exponemt: 2}\n'
grep -q "exponent" err
try "c.yaml:1:1: the file is empty" ''
try "not YAML 1.2" 'chain: [abs\n'
try "c.yaml:1:8: found an alias" 'chain: *a\n'
try "c.yaml:1:16: found the byte 0xff" 'chain: [abs] # \0377\n'
head -c 3000 /dev/zero | tr '\0' '[' >c.yaml
refused 3 "c.yaml:1:33: " "$WEIR" run c.yaml "$input" -o clean/out.npy
head -c 2000000 /dev/zero | tr '\0' '#' >c.yaml
refused 3 "larger than" "$WEIR" run c.yaml "$input" -o clean/out.npy
refused 7 "none.yaml" "$WEIR" run none.yaml "$input" -o clean/out.npy
