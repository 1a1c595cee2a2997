#!/usr/bin/env bash
# The page's parts that need no browser: palette, merging, decoder, address, lanes.
set -euo pipefail
page=$LAMELLA_SRC/page
if ! command -v node >/dev/null || [ ! -e "$page/node_modules/.package-lock.json" ]; then
    echo "node or the packages of page are not installed: script/setup does that"
    exit 77
fi
node "$page/test.mjs"
