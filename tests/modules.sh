# A module includes only modules below it (doc/design.md); cli and bench/command include include/weir only.
set -eu
cd "$SOURCE"
modules="base heap cache trace array kernel dsp scan unit chain"
leaves="recording live config"
fail=0
below=""
for module in $modules; do
    below="$below $module"
    for found in $(grep -rhoE '#include "[a-z]+/' "src/$module" --include='*.[ch]' | sed 's/.*"//; s,/,,' | sort -u); do
        case " $below " in
        *" $found "*) ;;
        *) echo "src/$module includes $found, which is not below it"; fail=1 ;;
        esac
    done
done
for module in $leaves; do
    [ -d "src/$module" ] || continue
    for found in $(grep -rhoE '#include "[a-z]+/' "src/$module" --include='*.[ch]' | sed 's/.*"//; s,/,,' | sort -u); do
        case " $modules $module " in
        *" $found "*) ;;
        *) echo "src/$module includes $found, which is not below it"; fail=1 ;;
        esac
    done
done
if grep -rnE '#include "(\.\./|[a-z]+/)' cli bench/command --include='*.[ch]'; then
    echo "the command includes more than include/weir"
    fail=1
fi
# Public headers: only those of lower layers.
layers="base heap cache trace array unit chain"
below=""
for layer in $layers recording config; do
    for found in $(grep -hoE '#include <weir/[a-z]+' "include/weir/$layer.h" | sed 's,.*/,,'); do
        case " $below " in
        *" $found "*) ;;
        *) echo "weir/$layer.h includes weir/$found.h"; fail=1 ;;
        esac
    done
    case " $layers " in *" $layer "*) below="$below $layer" ;; esac
done
exit $fail
