#!/usr/bin/env bash
# Each call of refused.txt must fail to compile, with the sentence beside it and in at most ten lines.
# usage: refused.sh COMPILER INCLUDE_DIR
set -euo pipefail
compiler=$1 include=$2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

program() {  # CALL
    cat <<END
#include "loom/coll/typed.hpp"
#include <list>
#include <string>
#include <vector>
struct Point { double x, y; };
int sum_of(int a, int b);
void program(loom::coll::Communicator comm, std::vector<int> in, std::vector<int> out, const std::vector<int> fixed,
             std::vector<double> reals, std::vector<std::string> texts, std::list<int> list, std::vector<bool> flags,
             std::vector<Point> points, int number, loom::Rank root) {
    $1
}
END
}
compile() {  # NUMBER
    "$compiler" -std=c++20 -Wall -fsyntax-only -I "$folder" -I "$include" "$folder/$1.cpp" >"$folder/$1.txt" 2>&1
}

# The header is read once for all.
mkdir -p "$folder/loom/coll"
"$compiler" -std=c++20 -w -I "$include" -x c++-header "$include/loom/coll/typed.hpp" -o "$folder/loom/coll/typed.hpp.gch"

# What is right compiles: the calls below fail for what is wrong in them.
program 'comm.allreduce(in, out, std::plus<>{}); comm.broadcast(number, root); comm.send(1, root);' > "$folder/0.cpp"
compile 0 || { cat "$folder/0.txt"; exit 1; }

wrong=0 number=0
while IFS= read -r line; do
    case $line in '#'*) continue ;; esac
    number=$((number + 1))
    call=${line%% // *} sentence=${line#* // }
    program "$call" > "$folder/$number.cpp"
    if compile $number; then
        echo "compiles: $call"; wrong=1; continue
    fi
    if [ "$(wc -l < "$folder/$number.txt")" -gt 10 ] || ! grep -qF "error: static assertion failed: $sentence" "$folder/$number.txt"; then
        echo "more than ten lines, or not '$sentence': $call"; cat "$folder/$number.txt"; wrong=1
    fi
done < "$here/refused.txt"
test $number -gt 0
exit $wrong
