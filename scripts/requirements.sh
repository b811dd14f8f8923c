#!/usr/bin/env bash
# Fails when a requirement AE-1 to AE-117 or AE-125 to AE-144, or one of XN and XX, is named by no test
# and has no reason below, or has both.
# Prints the reasons.
#
# A test names a requirement in its function's name (ae_007_...), all of which run. Comments,
# documentation, labels of tables and functions that are no tests do not count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

requirements="$(seq 1 117) $(seq 125 144)"

# Every line of code that is compiled for tests only.
test_lines() {
  find crates/*/tests tests/tests -name '*.rs' -exec cat {} +
  find crates/*/src \( -name tests.rs -o -path '*/tests/*.rs' \) -exec cat {} +
  # The rest of a source file from its first `#[cfg(test)]` on.
  find crates/*/src -name '*.rs' ! -name tests.rs ! -path '*/tests/*' \
    -exec awk 'FNR == 1 { in_tests = 0 } /^#\[cfg\(test\)\]/ { in_tests = 1 } in_tests' {} +
}

# Names of functions that stand under a test attribute, with other attributes between at most.
test_names() {
  awk '
    /^[[:space:]]*#\[(tokio::)?test[](]/ { is_test = 1; next }
    /^[[:space:]]*(#\[|\/\/|[])])/ { next }
    is_test && match($0, /fn [a-z0-9_]+/) { print substr($0, RSTART + 3, RLENGTH - 3) }
    { is_test = 0 }
  '
}

names="$(test_lines | test_names)"
# `ae_126_to_130` names all five.
named="$({
  grep -oE '(^|_)ae_[0-9]{3}' <<<"$names" | sed -E 's/^_?ae_0*//'
  { grep -oE '(^|_)ae_[0-9]{3}_to_(ae_)?[0-9]{3}' <<<"$names" || true; } |
    sed -E 's/^_?ae_0*([0-9]+)_to_(ae_)?0*([0-9]+)/\1 \3/' |
    while read -r first last; do seq "$first" "$last"; done
} | sort -un)"

# What no test of ours can defend, and why.
declare -A excused=(
  [90]="NTP on the machines: the operator's; what the ledger does about a bad clock is tested"
  [137]="a lapse is a deadline of the machine, not a timer of 30 s: tests lc_1_3_… and of notices"
  [138]="AX-27 says 15 minutes, in memory: tests ax_027_…"
  [142]="the same as AE-57, whose tests hold it"
  [143]="the ledger looks, and tells both parties: settlement-watcher.md, tests lc_5_… of looks"
  [144]="NTP on the machines: the owner's; an envelope that is refused for its time names the ledger's"
)

faults=0
for requirement in $requirements; do
  reason="${excused[$requirement]:-}"
  if grep -qx "$requirement" <<<"$named"; then
    [ -z "$reason" ] || { echo "AE-$requirement is excused and named by a test"; faults=1; }
  elif [ -n "$reason" ]; then
    echo "AE-$requirement: $reason"
  else
    echo "AE-$requirement is named by no test"
    faults=1
  fi
done
for list in XN XX; do
  for number in $(seq 1 9); do
    if ! grep -qE "(^|_)${list,,}_$number(_|\$)" <<<"$names"; then
      echo "$list-$number is named by no test"
      faults=1
    fi
  done
done
exit "$faults"
