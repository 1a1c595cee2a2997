#!/usr/bin/env bash
# What `cmake --install` puts down is complete and works from another place, by both of its names.
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
fail() { echo "install_tree: $*" >&2; exit 1; }

cmake --install "$LAMELLA_BUILD" --prefix "$root/usr" >"$root/log" || fail "$(cat "$root/log")"
lib=$(dirname "$(find "$root/usr" -name liblamella-agent.so)")
[ -x "$root/usr/bin/lamella" ] || fail "no bin/lamella"
[ -e "$lib/liblamella-agent.so" ] || fail "no liblamella-agent.so"
[ "$(readlink "$root/usr/bin/cargo-lamella")" = lamella ] || fail "cargo-lamella is not a link to lamella"
for file in "$LAMELLA_SRC"/markers/*.markers; do
    cmp "$file" "$root/usr/share/lamella/markers/$(basename "$file")"
done
for file in "$LAMELLA_SRC"/docs/man/*.1; do
    cmp "$file" "$root/usr/share/man/man1/$(basename "$file")"
done

# Whoever builds the target `lamella` alone, as the README has it, can install.
ninja -C "$LAMELLA_BUILD" -t inputs lamella >"$root/inputs"
for file in "$lib"/liblamella*; do
    made=$(basename "$file")
    # Some archives are made by a target of their own.
    target=${made#lib} && target=${target%.a}-static
    [ -L "$file" ] || grep -qxF -e "$made" -e "$target" "$root/inputs" || fail "the target lamella does not make $(basename "$file")"
done

# Debian's Python finds the plug-in below its prefix, and any other by PYTHONPATH; the plug-in finds the library.
while read -r python version; do
    place=$lib/lamella/python
    if [ "$python" = /usr/bin/python3 ]; then place=$root/usr/lib/python${version%.*}/dist-packages; fi
    echo 'print("ran")' >"$root/script.py"
    ran=$(PYTHONPATH=$place PYTHONDONTWRITEBYTECODE=1 "$python" -m lamella -o "$root/python-$version" "$root/script.py") || fail "$python cannot record"
    [ "$ran" = ran ] || fail "$python printed $ran"
    "$root/usr/bin/lamella" report "$root/python-$version" | grep -q '<module> (script.py:1)' || fail "$python recorded nothing"
done < <(cat "$LAMELLA_BUILD/plugins/python/interpreters" 2>/dev/null)

# Moved, and without the variable that tests are given: the agent is found from the executable.
mv "$root/usr" "$root/else where"
unset LAMELLA_AGENT_SO
"$root/else where/bin/lamella" --version | grep -q '^lamella [0-9]' || fail "--version says something else"
"$root/else where/bin/cargo-lamella" lamella --help | grep -q 'cargo lamella' || fail "cargo lamella --help says something else"
# The Lua module finds liblamella from where it lies.
module=$(find "$root/else where" -path '*/lua/5.4/lamella.so')
if [ -n "$module" ] && command -v lua5.4 >/dev/null; then
    LUA_CPATH="$(dirname "$module")/?.so" LAMELLA_OUT="$root/lua.lamella" lua5.4 -l lamella -e 'print(#_VERSION)' >"$root/log" 2>&1 || fail "$(cat "$root/log")"
    "$root/else where/bin/lamella" report "$root/lua.lamella" | grep -q 'print (C)' || fail "the installed Lua module recorded nothing"
fi
if [ -n "${LAMELLA_SANITIZE:-}" ]; then exit 0; fi
"$root/else where/bin/lamella" record -o "$root/true.lamella" -- /bin/true 2>"$root/log" || fail "cannot record: $(cat "$root/log")"
"$root/else where/bin/lamella" report --format json "$root/true.lamella" |
    jq -e '.processes | map(select(.sampled)) | length >= 1' >/dev/null || fail "the installed agent did not sample"
