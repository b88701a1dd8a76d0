# SPDX-License-Identifier: MIT
# No output, and no part or side file of it, may be an input, however the paths are spelt and with --force too: one
# line, exit 2, and no file is changed. tests/cli/_ends.sh tests rescuing a part in every format.
. "$SOURCE/tests/cli/_lib.sh"
signal=synthetic:channels=2,rate=1000,seconds=1,seed=1
mkdir in
cd in
echo "[abs]" >c.yaml
printf '10\n20\n' >lengths
status 0 "$WEIR" run c.yaml "$signal" -o x.npy -q
status 0 "$WEIR" run c.yaml "$signal" -o r.raw -q
ln x.npy hard.npy
ln -s x.npy soft.npy
ln -s ../in again
ln x.npy.json side.link
ln -s x.npy link.npy.part
ln x.npy near.npy.part
ln x.npy.json y.npy.json
ln -s "$PWD/c.yaml" z.npy.json.part
cp -r . ../before

denied() { # STATUS PART COMMAND...: as refused, from here
    code=$1 text=$2
    shift 2
    status "$code" "$@"
    [ "$(wc -l <../err)" -eq 1 ] || fail "not one line: $*: $(cat ../err)"
    grep -qF -- "$text" ../err || fail "no '$text' in: $(cat ../err)"
    [ ! -s ../out ] || fail "something on standard output: $*"
}

kept() { # ARGUMENTS...: refused, as it is and with --force
    for force in "" --force; do
        # shellcheck disable=SC2086 # none or one word
        denied 2 "$part" "$WEIR" "$@" $force
        diff -r . ../before || fail "not as it was after: $*"
    done
}

part="is the input"
kept run c.yaml x.npy -o x.npy
kept run c.yaml x.npy -o hard.npy
kept run c.yaml x.npy -o soft.npy
kept run c.yaml soft.npy --rate 1000 -o x.npy
kept run c.yaml x.npy -o ./x.npy
kept run c.yaml x.npy -o ../in/x.npy
kept run c.yaml x.npy -o again/x.npy
kept run c.yaml "$PWD/x.npy" -o x.npy
kept run c.yaml x.npy --report x.npy
kept run c.yaml x.npy -o link.npy # its part is a link to the input
kept run c.yaml x.npy -o near.npy
kept plot x.npy -o x.npy
kept plot r.raw x.npy -o again/x.npy
kept trace record c.yaml x.npy -o x.npy
kept trace record c.yaml x.npy -o hard.npy
part="is the chain file"
kept run c.yaml x.npy -o c.yaml --output-format raw
kept run c.yaml x.npy --report c.yaml
kept run c.yaml x.npy -o z.npy
kept trace record c.yaml x.npy -o c.yaml
part="is the side file of the input"
kept run c.yaml x.npy -o x.npy.json --output-format raw
kept run c.yaml x.npy --report x.npy.json
kept run c.yaml x.npy --report side.link
kept run c.yaml x.npy -o y.npy
kept plot x.npy -o x.npy.json
part="is the file of --message-lengths"
kept run c.yaml x.npy --message-lengths lengths --report lengths
kept run c.yaml x.npy --message-lengths lengths -o lengths --output-format csv
part="rename one of them"
kept run c.yaml x.npy -o new.npy --report new.npy
kept run c.yaml x.npy -o new.npy --report ../in/new.npy.json
kept run c.yaml x.npy -o new.npy --report again/new.npy.part
kept run c.yaml x.npy -o new --output-format npy --report new.json

# The chain or the recording on standard input is a file too; so is standard output.
for force in "" --force; do
    # shellcheck disable=SC2086 # none or one word
    ! "$WEIR" run - x.npy -o c.yaml --output-format raw $force <c.yaml >../out 2>../err || fail "chain from <"
    grep -q "is the chain file" ../err || fail "$(cat ../err)"
    # shellcheck disable=SC2086 # none or one word
    ! "$WEIR" run c.yaml - --format raw --dtype f32 --channels-in-file 2 --rate 1000 -o r.raw $force <r.raw \
        >../out 2>../err || fail "recording from <"
    grep -q "is the input" ../err || fail "$(cat ../err)"
done
for name in - /dev/stdout /dev/fd/1; do
    ! "$WEIR" run c.yaml r.raw -o $name --output-format raw >>r.raw 2>../err || fail "appended to the input"
    grep -q "is the input" ../err || fail "$(cat ../err)"
done
diff -r . ../before || fail "not as it was"

# HDF5 with a dataset.
if "$WEIR" run c.yaml "$signal" -o h.h5 -q 2>/dev/null; then
    cp -r . ../with
    for out in h.h5 ../in/h.h5; do
        denied 2 "is the input" "$WEIR" run c.yaml h.h5:/data -o $out --force
        denied 2 "is the input" "$WEIR" plot h.h5:/data -o $out --force
    done
    denied 2 "is the side file of the input" "$WEIR" run c.yaml h.h5:/data --report h.h5.json --force
    diff -r . ../with || fail "not as it was: HDF5"
fi

# Files that are not inputs: standard output into a file from its current position on, a link that is replaced.
echo head >all
"$WEIR" run c.yaml r.raw -o /dev/stdout --output-format raw -q >>all
[ "$(wc -c <all)" -eq $((5 + 2 * 1000 * 4)) ] || fail "$(wc -c <all) bytes"
echo mine >mine
ln -s mine old.npy
status 0 "$WEIR" run c.yaml x.npy -o old.npy -q --force
[ "$(cat mine)" = mine ] && [ ! -L old.npy ] || fail "a link at the output's name was followed"
denied 2 "is a folder" "$WEIR" run c.yaml x.npy -o ../in --output-format npy
denied 2 "is empty" "$WEIR" run c.yaml x.npy -o "" --output-format npy
denied 2 "is empty" "$WEIR" run c.yaml x.npy --report ""
denied 2 "is a folder" "$WEIR" run c.yaml x.npy -o ../in/ --output-format npy --force
denied 7 "none/o.npy" "$WEIR" run c.yaml x.npy -o none/o.npy -q
denied 7 "none/r.html" "$WEIR" run c.yaml x.npy --report none/r.html -q
