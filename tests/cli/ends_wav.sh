# SPDX-License-Identifier: MIT
# How a run to .wav ends: _ends.sh says what is looked at.
. "$SOURCE/tests/cli/_ends.sh"
if ! "$WEIR" --version | grep -q "^  wav  *read"; then
    echo "skipped: this build does not read WAV"
    exit 77
fi
ends wav 
