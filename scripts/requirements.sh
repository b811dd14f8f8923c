#!/usr/bin/env bash
# Prints every requirement AE-1 to AE-108 that no test names, one a line. It informs: nothing fails.
#
# A test names a requirement in its function's name (ae_007_...) or in a label (AE-7). Module
# documentation names whole ranges and does not count.
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

named="$(test_lines | grep -v '^[[:space:]]*//!' |
  grep -oE '(^|[^A-Za-z0-9])(AE-[0-9]+|ae_[0-9]{3})' |
  sed -E 's/^.*(AE-|ae_)0*//' | sort -un)"

comm -23 <(seq 1 "$last_requirement" | sort) <(sort <<<"$named") | sort -n | sed 's/^/AE-/'
