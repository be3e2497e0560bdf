#!/usr/bin/env bash
# interruption_test.sh PROGRAM CASE: signals at several moments of a run. Whatever it was doing, the program ends with 128 +
# signal and no unfinished file, and what was there before still is.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
set -m # without job control the shell ignores SIGINT for what runs in the background, until the program handles it

# interrupted SIGNAL CODE MOMENT ARGS...: runs the program, sends the signal when the command MOMENT succeeds, waits for CODE.
interrupted() {
  local signal=$1 expected=$2 moment=$3 code pid
  shift 3
  command="$(basename "$program") $* (SIG$signal at: $moment)"
  : >"$work/.output" # no moment has come by what the run before printed
  "$program" "${common[@]}" "$@" >"$work/.output" 2>"$work/.errors" &
  pid=$!
  until eval "$moment"; do
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.002
  done
  kill -s "$signal" "$pid" 2>/dev/null
  wait "$pid"
  code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected"
}

outputs=(--report report.json --history history.csv)
if "$program" --backend cpu --level 1 --quiet --vtk out.vtr 2>/dev/null; then
  outputs+=(--vtk out.vtr)
  rm out.vtr
fi

case_at_any_time() {
  local delay
  for delay in 0.01 0.02 0.04 0.08 0.16 0.32; do
    interrupted INT 130 "sleep $delay" --level 11 "${outputs[@]}"
    no_files
  done
}

case_during_the_solve() {
  interrupted INT 130 "grep -q '^ *1 ' .output" --level 10 "${outputs[@]}"
  no_files
  interrupted TERM 143 "grep -q '^ *2 ' .output" --level 10 --solver cg "${outputs[@]}"
  no_files
}

case_while_a_file_is_written() {
  [[ " ${outputs[*]} " == *" --vtk "* ]] || skip "this build has no VTK"
  run 0 --level 3 --vtk out.vtr
  cp out.vtr old.vtr
  # Beyond what is made and removed at once to see whether it can be.
  interrupted INT 130 '[ -s out.vtr.part* ]' --level 10 --cycle fmg --sweeps 2 "${outputs[@]}"
  has_files history.csv old.vtr out.vtr report.json
  cmp -s old.vtr out.vtr || fail "the old file is not what it was"
  for signal in TERM:143 QUIT:131 XCPU:152 PIPE:141; do
    interrupted ${signal%:*} ${signal#*:} '[ -s out.vtr.part* ]' --level 10 --cycle fmg --sweeps 2 "${outputs[@]}"
    has_files history.csv old.vtr out.vtr report.json
  done
}

case_nobody_reads() {
  "$program" --backend cpu --level 9 "${outputs[@]}" 2>.errors | head -n 1 >.output
  local code=${PIPESTATUS[0]}
  [ "$code" -eq 141 ] || fail "exit code $code, not 141"
  no_files
}

case_hang_up() {
  interrupted HUP 129 "grep -q '^ *1 ' .output" --level 10 "${outputs[@]}"
  no_files
  # But not under nohup.
  local nohup_program=$program
  program=$(command -v nohup)
  common=("$nohup_program" --backend cpu)
  interrupted HUP 0 "grep -q '^ *0 ' .output" --level 9 --vtk none
}

case_the_other_programs() {
  local folder
  folder=$(dirname "$program")
  program=$folder/paper_tables
  interrupted INT 130 "grep -q '^ *2 ' .output" --max-level 9
  program=$folder/stratum_bench
  interrupted INT 130 'sleep 0.2' --levels 10 --json bench.json
  no_files
  program=$folder/krylov
  interrupted INT 130 '[ -s a.mtx.part* ]' --unknowns 1000,1000 --save-matrix a.mtx
  no_files
}

run_case "$2"
