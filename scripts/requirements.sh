#!/usr/bin/env bash
# Fails when a requirement of docs/spec (AE, AX, CC, CX, XN, XX) is named by no test and has no reason below,
# or has both. Prints the reasons, and which requirements only a part of `scripts/test.sh --full` tests.
#
# A test names a requirement in its function's name (ae_007_...). Comments, documentation, labels of
# tables and functions that are no tests do not count. A test under `#[ignore]` runs in `--full` only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Every line of code that is compiled for tests only.
test_lines() {
  find crates/*/tests tests/tests -name '*.rs' -exec cat {} +
  find crates/*/src \( -name tests.rs -o -path '*/tests/*.rs' \) -exec cat {} +
  # The rest of a source file from its first `#[cfg(test)]` on.
  find crates/*/src -name '*.rs' ! -name tests.rs ! -path '*/tests/*' \
    -exec awk 'FNR == 1 { in_tests = 0 } /^#\[cfg\(test\)\]/ { in_tests = 1 } in_tests' {} +
}

# Names of functions under a test attribute, with other attributes between at most: `gate NAME`, or
# `full NAME` for those that the gate leaves out.
test_names() {
  awk '
    /^[[:space:]]*#\[(tokio::)?test[](]/ { is_test = 1; depth = "gate"; next }
    is_test && /^[[:space:]]*#\[ignore/ { depth = "full"; next }
    /^[[:space:]]*(#\[|\/\/|[])])/ { next }
    is_test && match($0, /fn [a-z0-9_]+/) { print depth, substr($0, RSTART + 3, RLENGTH - 3) }
    { is_test = 0 }
  '
}

names="$(test_lines | test_names)"
# Numbers of a list that tests of a depth name. `ae_126_to_130` names all five.
named_of() {
  local list="$1" depth="$2" of_depth
  of_depth="$(sed -n "s/^$depth //p" <<<"$names")"
  {
    { grep -oE "(^|_)${list}_[0-9]+" <<<"$of_depth" || true; } | sed -E "s/^_?${list}_0*//"
    { grep -oE "(^|_)${list}_[0-9]+_to_(${list}_)?[0-9]+" <<<"$of_depth" || true; } |
      sed -E "s/^_?${list}_0*([0-9]+)_to_(${list}_)?0*([0-9]+)/\\1 \\3/" |
      while read -r first last; do seq "$first" "$last"; done
  } | sort -un
}

# What no test of ours can defend, and why.
declare -A excused=(
  [AE-90]="NTP on the machines: the operator's; what the ledger does about a bad clock is tested"
  [AE-137]="a lapse is a deadline of the machine, not a timer of 30 s: tests lc_1_3_… and of notices"
  [AE-138]="AX-27 says 15 minutes, in memory: tests ax_027_…"
  [AE-142]="the same as AE-57, whose tests hold it"
  [AE-143]="the ledger looks, and tells both parties: settlement-watcher.md, tests lc_5_… of looks"
  [AE-144]="NTP on the machines: the owner's; an envelope that is refused for its time names the ledger's"
  [CC-93]="registering widely used types with IANA is for whoever defines them"
  [CC-106]="a fact about the draft: here the ledger is the board, and cx_48 has the quorum of faulty agents"
  [CC-107]="weights are the proposer's, and every participant acknowledges them: tests cc_031_…"
  [CC-108]="every vote is in one log, which members, auditors and witnesses compare"
  [CC-110]="an advice to consider: the log orders all votes, so no protocol among agents is needed"
  [CC-111]="the consumer's: a REQUEST of small price is such a test"
)

faults=0
met=0
in_gate=0
full_only=()
check() {
  local list="$1" number id reason
  local -A gate=() full=()
  for number in $(named_of "${list,,}" gate); do gate[$number]=yes; done
  for number in $(named_of "${list,,}" full); do full[$number]=yes; done
  shift
  for number in "$@"; do
    id="$list-$number"
    reason="${excused[$id]:-}"
    if [ -n "${gate[$number]:-}" ]; then
      in_gate=$((in_gate + 1))
      [ -z "$reason" ] || { echo "$id is excused and named by a test"; faults=1; }
    elif [ -n "${full[$number]:-}" ]; then
      full_only+=("$id")
      [ -z "$reason" ] || { echo "$id is excused and named by a test"; faults=1; }
    elif [ -n "$reason" ]; then
      echo "$id: $reason"
      met=$((met + 1))
    else
      echo "$id is named by no test"
      faults=1
    fi
  done
}

# shellcheck disable=SC2046
{
  check AE $(seq 1 144)
  check AX $(seq 1 46)
  check CC $(seq 1 117)
  check CX $(seq 1 51)
  check XN $(seq 1 9)
  check XX $(seq 1 9)
}
[ "$met" -eq "${#excused[@]}" ] || { echo "an excuse is for no requirement, or for one that a test names"; faults=1; }
echo "requirements: $in_gate tested by the gate, ${#full_only[@]} by --full only (${full_only[*]:-none}), $met excused"
exit "$faults"
