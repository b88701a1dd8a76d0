# SPDX-License-Identifier: MIT
# What README shows exists: its C is examples/embed.c, its chain is examples/spike_band_power.yaml,
# and every file that it links to exists.
set -eu
cd "$SOURCE"
block() { # block LANGUAGE: the first block of that language
    awk -v start="\`\`\`$1" '$0 == start { inside = 1; next } /^```$/ { if (inside) exit } inside' README.md
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
block c >"$work/c"
sed 1d examples/embed.c >"$work/embed" # the SPDX line
diff "$work/c" "$work/embed"
block yaml >"$work/yaml"
diff "$work/yaml" examples/spike_band_power.yaml
grep -oE '\]\([^)#:]+\)' README.md CONTRIBUTING.md doc/design.md | tr -d '()]' | while IFS=: read -r page link; do
    [ -e "$(dirname "$page")/$link" ] || { echo "$page links to $link, which is not there"; exit 1; }
done
