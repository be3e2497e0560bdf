#!/usr/bin/env bash
# stratum_bench_test.sh PROGRAM HAS_HYPRE: the benchmark runs and its JSON has every entry; nothing here looks at a time.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
common+=(--quick)

# has COUNT PATTERN: lines of the JSON.
has() {
  local count
  count=$(grep -cE -e "$2" bench.json)
  [ "$count" -eq "$1" ] || fail "$count lines of the JSON match /$2/, not $1"
}

run 0 --levels 6 --json bench.json
has_files bench.json
# Four operators in two precisions.
for kernel in copy axpy residual jacobi colour_gs {line_x,line_y,adi}{,:simultaneous} restrict_residual prolongate_add \
  'V\(2,2\) adi' 'V\(4,4\) adi'; do
  has 8 "\"kernel\": \"$kernel\",.*\"gb_per_s\": [0-9]"
done
for method in segments cyclic_reduction cyclic_reduction_in_place; do
  for direction in x y; do
    for precision in float double; do
      has 1 "\"lines\": 64, .*\"length\": 64, .*\"direction\": \"$direction\", .*\"$precision\", .*\"method\": \"$method\",.*\"gb_per_s\": [0-9]"
    done
  done
done
has 1 '"line_peer": "none, (cuSPARSE runs on a GPU|built without cuSPARSE)'
for smoother in adi adi:simultaneous; do
  for cycle in 'V\(2,2\)' 'V\(4,4\)'; do
    for precision in mixed double; do
      has 2 "\"smoother\": \"$smoother\", .*\"$cycle\", .*\"$precision\", .*\"converged\",.*\"solve_seconds\": [0-9]"
    done
  done
  for steps in 2 4; do
    has 2 "\"smoother\": \"$smoother\", .*\"fmg\+V\($steps,$steps\)\", .*\"converged\",.*\"solve_seconds\": [0-9]"
    has 2 "\"smoother\": \"$smoother\", .*\"fmg\($steps,$steps\)\".*\"error_to_converged_error\": (1\.0|0\.9).*\"algebraic_to_converged_error\": 0\."
  done
done
# A point smoother fails on A3: said so, and not timed.
has 1 '"A3",.*"smoother": "jacobi".*"V\(4,4\)".*"status": "(diverged|max iterations|stagnated)".*"solve_seconds": null'
has 0 '"left_out": \[$'
if command -v jq >/dev/null; then jq -e '.copy_gb_per_s > 0' bench.json >/dev/null || fail "not JSON"; fi

# Peers on one core, or a word on why there are none. Convergence is claimed on the residual of our own operator.
has 1 '"peers": "none, (built without hypre|peers have one core)'
run 0 --threads 1 --clock cpu --levels 5 --what solves --smoothers adi --json bench.json
if [ "${2:-OFF}" = ON ]; then
  has 1 '"peers": "hypre [0-9.]+(, fftw[^"]*)? on one core"'
  for mesh in U1 A3; do
    for peer in SMG SMG-CG PFMG-CG BoomerAMG-CG; do
      has 1 "\"$mesh\",.*\"hypre $peer\",.*\"nine-band\",.*\"converged\", +\"setup_seconds\": [0-9].*\"solve_seconds\": [0-9]"
    done
  done
  run 0 --threads 1 --levels 7 --what solves --smoothers adi --meshes A5 --peers PFMG-CG --json bench.json
  has 1 '"hypre PFMG-CG",.*"max iterations",.*"solve_seconds": null.*"relative_residual": [0-9.e-]+'
else
  has 1 '"peers": "(none, built without hypre|fftw)'
fi
if grep -q '"peers": ".*fftw' bench.json; then
  run 0 --threads 1 --levels 5 --what solves --smoothers adi --meshes U1,A3 --peers sine-transforms --json bench.json
  has 1 '"U1",.*"sine-transforms",.*"converged",.*"solve_seconds": [0-9]'
  has 0 '"A3",.*"sine-transforms"'
fi

# Boxes: hypre's SMG solves the same matrices.
run 0 --threads 1 --what boxes --peers all --json bench.json
has 3 '"cells": \[24, 32, 40\], .*"status": "(converged|round-off limit)", .*"choice": "fast diagonalization'
has 2 '"kernel": "(box residual|norm of it alone)",.*"gb_per_s": [0-9]'
has 1 '"kernel": "box direct solution", .*"seconds": [0-9]'
has 3 '"kind": "(uniform|graded in z|graded), K of 1 and 10000", .*"status": "converged", .*"choice": "conjugate gradients around V-cycles'
if [ "${2:-OFF}" = ON ]; then has 5 '"peer": "hypre SMG", .*"status": "converged"'; fi
if grep -q '"peers": ".*fftw' bench.json; then has 1 '"kind": "uniform", "peer": "FFTW, .*"status": "converged"'; fi
run 0 --threads 1 --what boxes --boxes 16x16x16 --peers none --json bench.json
has 1 '"kind": "A3 in x, y, z", .*"status": "converged"'
refused --what boxes --boxes 24x32 -- "is not three numbers of cells"

run 0 --threads 1 --what patches --peers none --json bench.json
has 1 '"mesh": "cylinder", "patches": 14, "cells": 32, .*"status": "converged", "iterations": [0-9]*, .*"fmg_seconds"'
refused --what patches --patches cylinder -- "is not a name with cells"
refused --what patches --patches sphere:8 -- "unknown name 'sphere'"

# Matrices without a mesh: ours are all solved.
run 0 --threads 1 --what matrices --json bench.json
[ "$(grep -c '"solver": "Stratum",.*"status": "converged"' bench.json)" -eq 8 ] || fail "not all eight matrices are solved"
for peer in amgcl ginkgo; do
  if grep -qi "\"solver\": \"$peer" bench.json; then
    run 0 --threads 1 --what matrices --peers "$peer" --json bench.json
    [ "$(grep -ci "\"solver\": \"$peer.*\"solve_seconds\": [0-9]" bench.json)" -eq 8 ] || fail "not all eight matrices by $peer"
    [ "$(grep -c '"solver": "hypre' bench.json)" -eq 0 ] || fail "more than $peer"
    refused --peers "$peer" --threads 2 --
  else
    refused --threads 1 --what matrices --peers "$peer" -- "built without"
  fi
done

run 0 --threads 1 --clock cpu --auto --meshes U1,A3 --levels 4 --random 2 --json auto.json
[ "$(grep -c '"auto": ".*"best_fixed": ".*"ratio": [0-9]' auto.json)" -eq 4 ] || fail "not four meshes in auto.json"
prints '^U1, level 4 .* colour_gs '
prints '^A3, level 4 .* adi'

for wrong in "--random 2000 --auto" "--random 5" "--clock sun" "--clock cpu --threads 2" "--peers GMG" "--peers SMG --threads 2" "--peer-level 1" "--rounds 0" "--levels 99" "--meshes U9" "--smoothers sor" "--operators dense" "--what nothing" "--smoothers jacobi:zebra:x"; do
  # shellcheck disable=SC2086
  refused $wrong --
done
[ "$failures" -eq 0 ]
