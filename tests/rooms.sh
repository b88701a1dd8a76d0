# A module includes only modules below it (doc/design.md); cli and bench/command include include/weir alone.
set -eu
cd "$SOURCE"
rooms="base heap cache trace array kernel dsp scan unit chain"
leaves="recording live config"
fail=0
above=""
for room in $rooms; do
    above="$above $room"
    for found in $(grep -rhoE '#include "[a-z]+/' "src/$room" --include='*.[ch]' | sed 's/.*"//; s,/,,' | sort -u); do
        case " $above " in
        *" $found "*) ;;
        *) echo "src/$room includes $found, which is not above it"; fail=1 ;;
        esac
    done
done
for room in $leaves; do
    [ -d "src/$room" ] || continue
    for found in $(grep -rhoE '#include "[a-z]+/' "src/$room" --include='*.[ch]' | sed 's/.*"//; s,/,,' | sort -u); do
        case " $rooms $room " in
        *" $found "*) ;;
        *) echo "src/$room includes $found, which stands beside it"; fail=1 ;;
        esac
    done
done
if grep -rnE '#include "(\.\./|[a-z]+/)' cli bench/command --include='*.[ch]'; then
    echo "the command includes more than include/weir"
    fail=1
fi
# Public headers: only those of layers above.
layers="base heap cache trace array unit chain"
above=""
for layer in $layers recording config; do
    for found in $(grep -hoE '#include <weir/[a-z]+' "include/weir/$layer.h" | sed 's,.*/,,'); do
        case " $above " in
        *" $found "*) ;;
        *) echo "weir/$layer.h includes weir/$found.h"; fail=1 ;;
        esac
    done
    case " $layers " in *" $layer "*) above="$above $layer" ;; esac
done
exit $fail
