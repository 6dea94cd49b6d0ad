#!/usr/bin/env bash
# The installed program works without its build tree, and finds the library beside it. usage: install.sh CMAKE BUILD
set -euo pipefail
cmake=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder" >/dev/null
"$folder/bin/loom" verbs devices | grep -q loom0
test "$("$folder/bin/loom" verbs run --json -- sh | grep -c "$folder/lib/libloom-verbs.so")" -ge 1
