#!/usr/bin/env bash
# Fails when a source is not as .clang-format says, naming file and line. usage: format.sh SOURCE_DIR
set -euo pipefail
cd "$1"
sources() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z '*.cpp' '*.hpp' | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done
    else
        find include src tests bench \( -name '*.cpp' -o -name '*.hpp' \) -print0
    fi
}
sources | xargs -0 -n 8 -P 2 clang-format-14 --dry-run -Werror --ferror-limit=3
