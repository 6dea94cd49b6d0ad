#!/usr/bin/env bash
# What the runner of suites believes. A benchmark that says nothing of its data, for lack of -DCHECK, does not pass; one
# that finds defects does not; what was not built is told, and so is a suite that nobody named. usage: judgement.sh SUITES
set -euo pipefail
suites=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/openmpi"
unset LOOM_SUITE_MPICH LOOM_SUITE_OSU
export LOOM_SUITE_IMB=$folder

# imb HEADER ROW: a benchmark that prints this table.
imb() {
  printf '#!/bin/sh\nprintf "%%s\\n" "%s" "%s"\n' "$1" "$2" > "$folder/openmpi/IMB-NBC"
  chmod +x "$folder/openmpi/IMB-NBC"
}
verdict() { "$suites" --plain --mpi openmpi --match "Ibcast" > "$folder/out"; grep -o "IMB-NBC Ibcast .*" "$folder/out"; }

imb "       #bytes #repetitions t_ovrl[usec]      defects" "            1           12         3.21         0.00"
verdict | grep -q passes
imb "       #bytes #repetitions t_ovrl[usec]      defects" "            1           12         3.21         1.00"
verdict | grep -q fails
imb "       #bytes #repetitions t_ovrl[usec]" "            1           12         3.21"
verdict | grep -q fails
"$suites" --plain --mpi openmpi --match "IMB-MPI1 Bcast" > "$folder/out"
grep -q "IMB-MPI1 Bcast .*not built" "$folder/out"
grep -q "in none of these numbers: 1" "$folder/out"
grep -q "openmpi osu: not run, LOOM_SUITE_OSU is not set" "$folder/out"
