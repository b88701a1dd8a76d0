# SPDX-License-Identifier: MIT
# weir trace replay reproduces every row of every recorded run of MLX's own cache, step by step; a row that
# differs is reported, with exit status 1.
. "$SOURCE/tests/cli/_lib.sh"
[ -d "$SHARED/reference-mlx" ] || { echo "skipped: no recorded runs of MLX in $SHARED/reference-mlx"; exit 77; }
rows=0 files=0
for csv in "$SHARED"/reference-mlx/*.csv; do
    name=$(basename "$csv" .csv)
    variant=mlx:${name%%-*}
    case $name in
    *-32MiB) limit="--cache-limit 33554432" ;;
    *-unlimited) limit="--cache-limit 1024G" ;;
    *) limit= ;; # its own: 32 MiB on the CPU, the device on CUDA
    esac
    # shellcheck disable=SC2086
    status 0 "$WEIR" trace replay "$csv" --policy "$variant" $limit --steps
    grep -v -e '^#' -e '^step' "$csv" | cut -d, -f1,5,6 >wanted
    cmp -s out wanted || fail "$name: $(diff wanted out | head -4)"
    status 0 "$WEIR" trace replay "$csv" # policy and limit as its first line says
    count=$(wc -l <wanted)
    grep -q "$count of $count as recorded" out || fail "$name: $(cat out)"
    rows=$((rows + count))
    files=$((files + 1))
    # Another policy is detected.
    other=mlx:cpu
    [ "$variant" != mlx:cpu ] || other=mlx:cuda
    status 1 "$WEIR" trace replay "$csv" --policy "$other"
    grep -q "step [0-9]* (take): live [0-9]*, idle [0-9]* found; live [0-9]*, idle [0-9]* recorded" err ||
        fail "$name under $other: $(cat err)"
done
[ "$files" -ge 5 ] && [ "$rows" -ge 17000 ] || fail "$rows rows of $files files"
echo "$rows rows of $files files"

# One changed row is reported.
csv=$SHARED/reference-mlx/cuda-32MiB.csv
sed 's/^1234,\(.*\),[0-9]*$/1234,\1,7/' "$csv" >changed.csv
status 1 "$WEIR" trace replay changed.csv
grep -q "changed.csv: step 1234 .*; 1 of 4000 rows differ" err || fail "$(cat err)"
status 1 "$WEIR" trace replay changed.csv --json
grep -q '"first_failed": 1234' out || fail "$(cat out)"
