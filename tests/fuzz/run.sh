#!/usr/bin/env bash
# Builds and runs the fuzz targets; ctest calls it, and so can you.
#   run.sh build SOURCE BUILD            configures and builds all targets in BUILD with clang
#   run.sh run SOURCE BUILD NAME SECONDS [libFuzzer option...]
# A finding is left in BUILD/findings/NAME-*; new inputs are kept in BUILD/corpus/NAME for the next run.
set -euo pipefail
what=$1 source=$2 build=$3
case $what in
build)
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_CXX_FLAGS="-O1 -gline-tables-only" -DLOOM_FUZZ=ON -DLOOM_SANITIZE=address,undefined -DLOOM_TESTS=OFF -DLOOM_BENCH=OFF
    cmake --build "$build" --parallel 2 --target fuzz_targets
    ;;
run)
    name=$4 seconds=$5
    shift 5
    mkdir -p "$build/corpus/$name" "$build/findings"
    # Inputs are small because the readers' rules are local: a few lines reach every one of them.
    exec "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=1024 -timeout=10 -rss_limit_mb=1024 \
        -dict="$source/tests/fuzz/words.dict" -artifact_prefix="$build/findings/$name-" -print_final_stats=1 -verbosity=0 \
        "$@" "$build/corpus/$name" "$source/tests/fuzz/corpus/$name"
    ;;
*)
    echo "usage: run.sh build|run SOURCE BUILD [NAME SECONDS [OPTION...]]" >&2
    exit 2
    ;;
esac
