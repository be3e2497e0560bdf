#!/usr/bin/env bash
# poisson2d_refusals_test.sh POISSON2D CASE: options, numbers, files and limits of memory that poisson2d refuses or reports.
# shellcheck source=support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

small=(--level 5 --vtk none)

case_unknown_names_list_the_known() {
  refused "${small[@]}" --mesh B1 -- --mesh B1 U1 A5
  refused "${small[@]}" --smoother ssor -- --smoother ssor jacobi colour_gs line_x line_y adi auto
  refused "${small[@]}" --line-order random -- --line-order random zebra simultaneous
  refused "${small[@]}" --cycle x -- x v w f fmg
  refused "${small[@]}" --precision half -- half mixed double residual-replacement double-single single
  refused "${small[@]}" --solver sor -- sor multigrid cg gmres
  refused "${small[@]}" --restart 5 -- gmres
  refused "${small[@]}" --solver gcr --restart 0 -- restart
  refused "${small[@]}" --operator dense -- dense tensor symmetric nine-band
  refused "${small[@]}" --reference-norm other -- other rhs initial
  refused "${small[@]}" --inner steps:2 -- steps:2 cycles rtol
  run 1 "${small[@]}" --backend tpu
}

case_unknown_options_are_refused() {
  refused "${small[@]}" --mehs A3 -- "unknown option '--mehs'" 'did you mean --mesh?'
  refused "${small[@]}" --lev 4 -- "unknown option '--lev'" 'did you mean --level?'
  refused "${small[@]}" --Quiet=true -- "'--Quiet'" 'did you mean --quiet?'
  refused "${small[@]}" --%canonical_option% -- canonical_option
  refused "${small[@]}" --=3 -- "unknown option '--'"
  refused "${small[@]}" --colour blue -- colour --help
  # What was called otherwise before.
  refused "${small[@]}" --steps 2 -- "unknown option '--steps': it is called --sweeps now"
  refused "${small[@]}" --baseline rhs -- "'--baseline': it is called --reference-norm now"
  refused "${small[@]}" --cut-lines exact -- "'--cut-lines': it is called --distributed-smoothing now"
  refused "${small[@]}" --precision float-cg -- "--precision: unknown name 'float-cg': it is called residual-replacement now"
  refused "${small[@]}" --precision two-float -- "'two-float': it is called double-single now"
  refused "${small[@]}" --rhs 1 --kappa 1+x --interpolation network -- "'network': it is called conductance now"
  refused "${small[@]}" --inner digits:2 -- "digits:N is called rtol:X now"
  if grep -q 'did you mean' .errors; then fail "suggests what is far off"; fi
  for stray in stray - -q -level ''; do refused "${small[@]}" "$stray" -- "unexpected argument '$stray'"; done
}

case_values_stand_where_they_belong() {
  refused "${small[@]}" --rtol -- 'rtol lacks its value' '--rtol=X'
  refused "${small[@]}" --rtol= -- 'rtol lacks its value'
  refused "${small[@]}" --rtol --quiet -- 'rtol lacks its value'
  refused "${small[@]}" --rhs -h -- 'rhs lacks its value'
  refused "${small[@]}" --quiet=true -- 'quiet takes no value'
  refused "${small[@]}" --help=yes -- 'help takes no value'
  refused "${small[@]}" --quiet true -- "unexpected argument 'true'"
  refused "${small[@]}" --sweeps 2 --sweeps=4 -- 'sweeps is given twice'
  refused "${small[@]}" --quiet --quiet -- 'quiet is given twice'
  refused "${small[@]}" --rtol -1 -- "'-1'" rtol
  run 0 -h
  prints '^Mesh:'
  # One dash begins a value, two do so behind = alone.
  run 0 --rhs -x --report=--r.json --vtk=a=b.vtr --print-config
  for line in rhs=-x report=--r.json vtk=a=b.vtr; do prints "^$line$"; done
}

case_numbers_out_of_range() {
  for value in -1 21 x 3.5 '' 99999999999; do refused --vtk none --level="$value" -- level; done
  for value in 0 2 -0.5 3 nan inf x ''; do refused "${small[@]}" --nu="$value" -- nu; done
  for value in 0,1 1,0 -1,1 1 1,2,3 a,b inf,1 nan,1 ''; do refused "${small[@]}" --domain="$value" -- domain; done
  for value in 0 -1e-8 nan inf x 1e-8x ''; do refused "${small[@]}" --rtol="$value" -- rtol; done
  for value in -1 nan inf x; do refused "${small[@]}" --atol="$value" -- atol; done
  for value in -2 x 1.5; do refused "${small[@]}" --sweeps="$value" -- sweeps; done
  for value in -1 x 2.5; do refused "${small[@]}" --threads="$value" -- threads; done
  for value in 0 2 -1 nan x; do refused "${small[@]}" --damping="$value" -- damping; done
  for value in 0 -5 x; do refused "${small[@]}" --max-iterations="$value" -- max-iterations; done
  for value in cycles:0 rtol:0 cycles:-1 cycles cycles:x rtol:1 digits:2; do refused "${small[@]}" --inner="$value" -- inner; done
  for value in 5 5..3 a..b 3.. -1..3 3..21; do refused --convergence-table="$value" -- convergence-table; done
}

case_an_odd_number_of_adi_steps() {
  refused "${small[@]}" --sweeps 3 -- sweeps 3
  refused "${small[@]}" --smoother adi --sweeps 1 -- sweeps 1
  run 0 "${small[@]}" --smoother colour_gs --sweeps 3
}

case_bad_expressions() {
  run 1 "${small[@]}" --rhs '2*'
  if grep -q 'no muParser' .errors; then skip "this build has no muParser"; fi
  refused "${small[@]}" --rhs '2*' -- '2*' rhs
  refused "${small[@]}" --rhs 'sin(x' -- 'sin(x'
  refused "${small[@]}" --rhs 'foo+1' -- foo
  refused "${small[@]}" --rhs 1 --exact 'x y' -- 'x y' exact
  refused "${small[@]}" --boundary ')' -- boundary
  refused "${small[@]}" --rhs '' -- rhs
  # Expressions that parse, with values that are not finite.
  refused "${small[@]}" --rhs 0 --boundary 'x=0 ? 1 : 0' -- --boundary "'x==0 ? 1 : 0'"
  refused "${small[@]}" --rhs '0 < x < 1' -- rhs '&&'
  for expression in '1/0' 'sqrt(-1)' 'log(-1)'; do
    refused "${small[@]}" --rhs "$expression" -- finite
  done
  no_files
}

case_unwritable_outputs_are_found_before_solving() {
  for option in --report --history; do
    refused --code 5 "${small[@]}" $option missing/out.txt -- missing/out.txt
    refused --code 5 "${small[@]}" $option . -- .
    refused --code 5 "${small[@]}" $option /dev/null -- /dev/null
    prints_no_iteration
  done
  has_vtk || return 0
  refused --code 5 --level 4 --vtk missing/out.vtr -- missing/out.vtr
  prints_no_iteration
  refused --level 4 --vtk out.png -- out.png .vtr
}

prints_no_iteration() {
  if grep -q '^iterations' .output; then fail "solved before it looked at its outputs"; fi
}

case_outputs_must_differ() {
  refused "${small[@]}" --report out --history out -- out
  refused "${small[@]}" --report out --history ./out -- out
  echo level=4 >run.cfg
  refused --vtk none --config run.cfg --report ./run.cfg -- run.cfg 'read by --config'
}

case_links_and_modes() {
  mkdir elsewhere
  echo old >elsewhere/report.json
  chmod 640 elsewhere/report.json
  ln -s elsewhere/report.json report.json
  ln -s elsewhere/history.csv history.csv
  run 0 "${small[@]}" --report report.json --history history.csv
  [ -L report.json ] && [ -L history.csv ] || fail "a link is gone"
  [ "$(stat -c %a elsewhere/report.json)" = 640 ] || fail "the mode is $(stat -c %a elsewhere/report.json), not 640"
  check "r['status'] == 'converged'"
  grep -q iteration elsewhere/history.csv || fail "nothing behind the link"
  has_files elsewhere elsewhere/history.csv elsewhere/report.json history.csv report.json
  refused "${small[@]}" --report report.json --history elsewhere/report.json -- elsewhere/report.json
  ln -s round round
  refused --code 5 "${small[@]}" --report round -- round
}

case_outputs_on_standard_output() {
  run 0 --level 4 --vtk none --report -
  python3 -c 'import json; assert json.load(open(".output"))["status"] == "converged"' || fail "no JSON alone"
  grep -q '^status' .errors || fail "nothing for people"
  run 0 --level 4 --vtk none --quiet --history -
  [ "$(head -n 1 .output)" = iteration,residual,relative_residual ] || fail "no CSV"
  run 0 --level 4 --vtk none --report none --history none
  no_files
  refused --level 4 --vtk none --report - --history - -- "'-'"
  "$program" --backend cpu --level 4 --vtk none --quiet --report - >/dev/full 2>.errors
  [ $? -eq 5 ] || fail "a full standard output goes unnoticed"
  has_vtk || return 0
  run 0 --level 4 --quiet --vtk -
  head -c 100 .output | grep -q '<VTKFile' || fail "no VTK file"
  no_files
}

case_a_default_file_that_cannot_be_written() {
  needs_vtk
  # Even root cannot write into a folder that is gone.
  mkdir gone && cd gone && rmdir ../gone || exit 1
  run 0 --level 4
  grep -q 'warning: no file for ParaView' "$work/.errors" || fail "no warning"
  run 5 --level 4 --vtk out.vtr
}

case_switches_of_a_configuration_can_be_undone() {
  echo quiet=true >run.cfg
  run 0 "${small[@]}" --config run.cfg
  [ ! -s .output ] || fail "is not quiet"
  run 0 "${small[@]}" --config run.cfg --no-quiet
  prints '^status'
  refused "${small[@]}" --no-level -- no-level
  refused "${small[@]}" --quiet --no-quiet -- 'quiet is given twice'
}

case_full_multigrid_and_a_krylov_method() {
  run 0 --mesh A3 --level 6 --cycle fmg --solver cg --vtk none --report report.json
  prints '^solver +cg, fmg-cycle'
  check "r['iterations'] > 1 and r['relative_residual'] <= 1e-8 and 'tolerance' not in r['reason']"
}

case_memory_limits() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  (
    ulimit -v 500000
    refused --code 4 --threads 2 --level 12 --vtk none -- GiB
    run 0 --threads 2 --level 8 --vtk none
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_threads_that_cannot_be_made() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  (
    ulimit -v 4000000
    refused --code 4 "${small[@]}" --threads 4000 -- 'threads cannot be made'
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_names_that_are_no_utf8() {
  printf '0.5 0.5\n' >"$(printf 'w\xff.txt')"
  run 0 --cells ,8 --grade-x "$(printf 'widths:w\xff.txt')" --vtk none --report report.json
  check "r['grade_x'] == 'widths:w\ufffd.txt'"
}

case_no_other_file_is_touched() {
  echo mine >report.json.part
  run 0 "${small[@]}" --report report.json
  [ "$(cat report.json.part)" = mine ] || fail "a file of the user's is gone"
  has_files report.json report.json.part
}

case_numbers_far_from_one() {
  for size in 1e-200 1e200; do
    run 1 "${small[@]}" --rhs $size
    if grep -q muParser .errors; then skip "this build has no muParser"; fi
    refused "${small[@]}" --rhs $size -- norm right-hand 1e-140
  done
  for size in 1e-130 1e130; do
    run 0 "${small[@]}" --rhs $size --report report.json
    check "r['iterations'] > 2 and 0 < r['residual_reduction'] <= 1e-8"
  done
}

case_an_old_file_survives_a_run_that_fails() {
  echo old >report.json
  run 1 "${small[@]}" --report report.json --sweeps 3
  [ "$(cat report.json)" = old ] || fail "the old report is gone"
  has_files report.json
}

case_bad_configuration() {
  refused --code 5 "${small[@]}" --config missing.cfg -- missing.cfg
  run_with_config() {
    printf '%s' "$1" >run.cfg
    refused --config run.cfg "${small[@]}" -- "${@:2}"
  }
  run_with_config 'rtol=abc' rtol abc
  run_with_config 'smoother=ssor' ssor
  run_with_config $'# fine\n\nlevle=1' "'run.cfg', line 3" "'--levle'" 'did you mean --level?'
  run_with_config $'rtol=1\nquiet' 'line 2' "'quiet'" name=value
  run_with_config '[solver]' 'line 1' '[solver]' name=value
  run_with_config '=3' 'line 1' "'--'"
  run_with_config $'rtol=1\r\n rtol = 2 # again' 'line 2' 'rtol is given twice'
  run_with_config 'quiet=maybe' 'line 1' quiet maybe 'true or false'
  run_with_config 'quiet=' 'line 1' quiet 'true or false'
  # Long text is cut, bytes that a terminal would act upon are not shown.
  run_with_config "$(printf 'x%.0s' {1..5000})" 'line 1' 'xxxxxxxx...'
  [ "$(wc -c <.errors)" -lt 300 ] || fail "shows all of it"
  run_with_config "rtol=$(printf '9%.0s' {1..5000})x" 'rtol' '99999...'
  run_with_config $'\e[31mlevel' 'line 1' '?[31mlevel'
  printf '\xef\xbb\xbflevel=4\n' >run.cfg
  refused --code 5 "${small[@]}" --config run.cfg -- run.cfg byte-order
  printf '\xff\xfel\0e\0' >run.cfg
  refused --code 5 "${small[@]}" --config run.cfg -- run.cfg UTF-16
  # What ends in nothing, or fails while it is read.
  for file in /dev/zero /proc/self/mem .; do refused --code 5 "${small[@]}" --config $file -- "'$file'"; done
  for action in config help version print-config list-meshes; do
    run_with_config "$action=true" 'line 1' "--$action belongs on the command line"
  done
}

case_the_memory_expected_is_the_peak() {
  case $(ldd "$program") in *libasan*) skip "the sanitizer takes memory of its own" ;; esac
  # Of freed arrays below 32 MiB glibc keeps some, by chance; larger ones always go back to the system, as here all do.
  export MALLOC_MMAP_THRESHOLD_=131072
  local options
  for options in "--level 9 --vtk none" "--mesh A3 --level 10 --vtk none" "--level 10 --cycle fmg --sweeps 2 --vtk none" \
    "--level 9 --operator nine-band --precision double --solver cg --vtk none" "--cells 180,180 --level 2 --vtk out.vtr" "--level 9 --smoother auto --rhs 1 --rhs x --rhs y --vtk none" \
    "--level 10 --rhs 1 --rhs x --rhs y --vtk out.vtr" "--level 10 --vtk out.npy"; do
    # shellcheck disable=SC2086
    "$program" --backend cpu --threads 2 $options --report report.json >.output 2>.errors
    command="poisson2d $options"
    if grep -q 'has no VTK' .errors; then continue; fi
    echo "$command: expected, peak: $(report expected_memory_bytes) $(report peak_memory_bytes)"
    check "0.9 < r['expected_memory_bytes'] / r['peak_memory_bytes'] < 1.1"
  done
}

# Found within seconds, with what is needed and what there is.
case_levels_that_do_not_fit_in_memory() {
  local available level mesh vtk=
  if has_vtk; then vtk=yes; fi
  available=$(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * 1024))
  common=(10 "$program" "${common[@]}")
  program=timeout
  for level in 15 16 17 18 19 20; do
    # Right-hand side, solution and single-precision vectors take more than 32 bytes an unknown.
    [ $((32 << (2 * level))) -gt "$available" ] || continue
    for mesh in U1 A3; do
      refused --code 4 --mesh $mesh --level $level -- "mesh $mesh with $(((1 << level) - 1)) x" 'GiB of memory' 'GiB are available'
      awk -v unknowns=$((1 << (2 * level))) '
        match($0, /needs [0-9.e+]+ GiB of memory, [0-9.e+]+ GiB/) {
          split(substr($0, RSTART, RLENGTH), word, " ")
          each = word[2] * 1024 ^ 3 / unknowns
          good = each > 32 && each < 45 && word[2] > word[6]
        }
        END { exit !good }' .errors || fail "not what is needed: $(cat .errors)"
    done
  done
  [ $((32 << 40)) -gt "$available" ] || skip "level 20 would fit"
  refused --code 4 --mesh A2 --level 20 --operator nine-band --vtk none -- GiB
  refused --code 4 --level 20 --vtk none --report out.json --history out.csv -- GiB
  if [ "$vtk" ]; then refused --code 4 --level 20 --vtk out.vtr --report out.json --history out.csv -- GiB '--vtk none'; fi
  refused --code 4 --level 20 --rhs 1 --rhs x --rhs y --vtk none -- GiB
  refused --code 4 --convergence-table 9..20 -- GiB
  if grep -q '^ *9 ' .output; then fail "solved smaller levels first"; fi
}

case_widths_out_of_range() {
  # (nu / 2)^20 leaves double, and (nu / 2)^12 = 2e-40 leaves float.
  refused --nu 1e-20 --level 20 --vtk none -- width
  refused --nu 0.001 --level 12 --vtk none -- double
}

case_cuda_without_a_device() {
  needs_a_device "${small[@]}"
  no_files
}

case_contradictions() {
  refused "${small[@]}" --mesh A3 --nu 0.5 -- mesh
  refused "${small[@]}" --exact x -- rhs
  refused "${small[@]}" --precision double --inner cycles:2 -- inner
  refused "${small[@]}" --solver cg --inner rtol:1e-2 -- tolerance
  refused "${small[@]}" --precision single --cycle fmg -- single
  refused "${small[@]}" --precision double-single --cycle fmg -- "full multigrid" double-single
  refused "${small[@]}" --precision double-single --operator nine-band -- nine-band mixed
  refused "${small[@]}" --precision double-single --solver multigrid -- cg fcg multigrid
}

case_full_disk() {
  local outputs=(--vtk out.vtr --report report.json --history history.csv)
  needs_vtk
  # What a shell allows a file to have, in KiB, is found out like a full disk: first by the largest of the files.
  (
    ulimit -f 8
    run 5 --level 8 "${outputs[@]}"
    grep -q 'out.vtr' .errors || fail "does not name the file"
    # What is small is there all the same.
    has_files history.csv report.json
    check "r['status'] == 'converged'"
    rm history.csv report.json
    run 0 --level 8 --report report.json
    grep -q 'warning: .*poisson2d_U1_L8.vtr' .errors || fail "no warning"
    has_files report.json
    rm report.json
    ulimit -f 1
    refused --code 5 --level 5 --vtk none --report report.json -- report.json 'too large'
    exit "$failures"
  ) || failures=$((failures + 1))
  refused --code 5 "${small[@]}" --report /dev/full -- /dev/full
}

case_full_file_system() {
  local outputs=(--vtk out.vtr --report report.json --history history.csv)
  needs_vtk
  mkdir disk && mount -t tmpfs -o size=64k none disk 2>/dev/null || skip "may not mount a small file system"
  trap 'umount "$work/disk"; rm -rf "$work"' EXIT
  (
    cd disk || exit 1
    run 5 --level 8 "${outputs[@]}"
    grep -q "out.vtr.*No space left on device" "$work/.errors" || fail "does not say why"
    has_files history.csv report.json
    rm history.csv report.json
    dd if=/dev/zero of=filled bs=1k count=64 2>/dev/null
    refused --code 5 "${small[@]}" --report report.json -- report.json 'No space left on device'
    refused --code 5 "${small[@]}" --history history.csv -- history.csv 'No space left on device'
    exit "$failures"
  ) || failures=$((failures + 1))
}

case_full_standard_output() {
  [ -w /dev/full ] || skip "no /dev/full"
  "$program" --backend cpu "${small[@]}" >/dev/full 2>.errors
  local code=$?
  command="poisson2d >/dev/full"
  : >.output
  [ $code -eq 5 ] || fail "exit code $code, not 5"
}

run_case "$2"
