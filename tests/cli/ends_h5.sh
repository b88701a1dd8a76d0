# SPDX-License-Identifier: MIT
# How a run to .h5 ends: _ends.sh says what is looked at.
. "$SOURCE/tests/cli/_ends.sh"
if ! "$WEIR" --version | grep -q "^  hdf5  *read"; then
    echo "skipped: this build is without HDF5"
    exit 77
fi
disk_mib=16 # more than is filled before the first flush
ends h5 
