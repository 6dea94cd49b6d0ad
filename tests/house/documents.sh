#!/usr/bin/env bash
# Runs every ```sh block of a document, in order, in one empty folder. Blocks meant for reading only are
# marked ```console or ```text. usage: documents.sh PROGRAM DOCUMENT
set -euo pipefail
program=$1 document=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/here"
ln -s "$program" "$folder/bin/loom"
ln -s "$program" "$folder/here/loom" # so that ./loom is the program too
awk '/^```sh$/ { on = 1; blocks++; next } /^```/ { on = 0 } on { print } END { if (!blocks) exit 3 }' \
    "$document" >"$folder/commands" || { echo "no block to run in $document"; exit 1; }
cd "$folder/here"
PATH=$folder/bin:$PATH bash -euxo pipefail "$folder/commands"
