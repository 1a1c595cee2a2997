#!/usr/bin/env bash
# ctest: TIMEOUT 1200
# A few builds of a tiny workspace under record, one engine after the other: the short form of script/soak.
set -euo pipefail
command -v cargo >/dev/null || { echo "skipped: no cargo"; exit 77; }
exec "$LAMELLA_SRC/script/soak" 6
