#!/usr/bin/env bash
# stratum_bench_test.sh PROGRAM: the benchmark runs and its JSON has every entry; nothing here looks at a time.
set -uo pipefail

program=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# has COUNT PATTERN: lines of the JSON.
has() {
  local count
  count=$(grep -cE -e "$2" bench.json)
  [ "$count" -eq "$1" ] || fail "$count lines of the JSON match /$2/, not $1"
}

"$program" --backend cpu --quick --levels 6 --json bench.json >output || fail "exit code $?"
[ "$(find . -type f | sort | paste -sd ' ')" = "./bench.json ./output" ] || fail "not one JSON file"
# Three operators in two precisions.
for kernel in copy axpy residual jacobi colour_gs {line_x,line_y,adi}{,:simultaneous} restrict_residual prolongate_add \
  'V\(2,2\) adi' 'V\(4,4\) adi'; do
  has 6 "\"kernel\": \"$kernel\",.*\"gb_per_s\": [0-9]"
done
for smoother in adi adi:simultaneous; do
  for cycle in 'V\(2,2\)' 'V\(4,4\)'; do
    for precision in mixed double; do
      has 2 "\"smoother\": \"$smoother\", .*\"$cycle\", .*\"$precision\", .*\"converged\",.*\"solve_seconds\": [0-9]"
    done
  done
  has 2 "\"smoother\": \"$smoother\", .*\"fmg\".*\"error_to_converged_error\": (1\\.|0\\.9)"
done
# A point smoother fails on A3: said so, and not timed.
has 1 '"A3",.*"smoother": "jacobi".*V\(4,4\).*"status": "(diverged|max iterations|stagnated)".*"solve_seconds": null'
has 0 '"left_out": \[$'
if command -v jq >/dev/null; then jq -e '.copy_gb_per_s > 0' bench.json >/dev/null || fail "not JSON"; fi

for wrong in "--levels 99" "--meshes U9" "--smoothers sor" "--operators dense" "--what nothing" "--smoothers jacobi:zebra:x"; do
  # shellcheck disable=SC2086
  "$program" --backend cpu --quick $wrong >output 2>errors
  code=$?
  [ "$code" -eq 1 ] && [ "$(wc -l <errors)" -eq 1 ] || fail "$wrong: exit code $code, errors $(cat errors)"
done
exit "$((failures > 0))"
