#!/usr/bin/env bash
# Fails when a requirement AE-1 to AE-108, XN-1 to XN-9 or XX-1 to XX-9 is named by no test and has no
# reason below, or has both. Prints the reasons.
#
# A test names a requirement in its function's name (ae_007_...), all of which run. Comments,
# documentation, labels of tables and functions that are no tests do not count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

last_requirement=108

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
named="$(grep -oE '(^|_)ae_[0-9]{3}' <<<"$names" | sed -E 's/^_?ae_0*//' | sort -un)"

# What no test of ours can defend, and why.
declare -A excused=(
  [90]="NTP on the machines: the operator's; what the ledger does about a bad clock is tested"
)

faults=0
for requirement in $(seq 1 "$last_requirement"); do
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
