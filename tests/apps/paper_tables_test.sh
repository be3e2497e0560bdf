#!/usr/bin/env bash
# paper_tables_test.sh PROGRAM CASE: the studies of paper_tables that take seconds.
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

case_toeplitz_table() {
  run 0 --study toeplitz --table 2 --csv
  # Measured and published stand side by side.
  python3 - <<'END' || fail "the counts are not the published ones"
import csv, sys
rows = [row for row in csv.reader(open(".output")) if row and row[0] in ("0.2", "0.4", "0.6", "0.8", "1")]
exact = all(row[k] == row[k + 1] for row in rows if row[0] != "1" for k in (1, 3, 5, 7))
count = lambda cell: int(cell.split()[0])
close = all(abs(count(row[k]) - count(row[k + 1])) <= 20 for row in rows for k in (1, 3, 5, 7))
sys.exit(0 if len(rows) == 5 and exact and close else 1)
END
}

case_toeplitz_figures() {
  for figure in 3 5; do
    run 0 --study toeplitz --figure $figure --csv
    prints "^# Figure $figure"
    if grep -q '!' .output; then fail "an iteration did not converge"; fi
  done
}

case_toeplitz_by_equation_three() {
  run 0 --study toeplitz --table 2 --inner-test residual --csv
  prints 'stop by the residual'
  prints '^0\.8,253 \(3\),279 \(3\)'
}

case_speedups_and_microbenchmarks() {
  run 0 --table 5 --max-level 4 --threads 1 --csv
  prints '^A5,4,[0-9.]+,'
  run 0 --table 6 --max-level 8 --threads 1 --csv
  prints '^A3,8,[0-9.]+,.*,1\.93$' # the last column is published
  run 0 --figure 2 --max-level 4 --csv
  prints '^4,[0-9.]+,120,[0-9.]+,46\.4,[0-9.]+,123,[0-9.]+,18\.5$'
}

case_options_belong_to_their_study() {
  refused --study jungle -- jungle multigrid toeplitz
  refused --study toeplitz --table 1 -- table
  refused --study toeplitz --figure 6 -- figure
  refused --study toeplitz --max-level 5 -- max-level
  refused --inner-test residual -- inner-test
  refused --figure 3 -- figure 2 5 6
}

run_case "$2"
