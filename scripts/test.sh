#!/usr/bin/env bash
# The gate, and on request everything that is too long for it.
#
#   scripts/test.sh                    the gate: installs what the tests need, and runs all that an
#                                      ordinary change can break. CI runs exactly this.
#   scripts/test.sh --full             every part of the full depth that has no stamp for this commit
#   scripts/test.sh --full PART ...    these parts, whatever their stamps say
#   scripts/test.sh --list             the parts, and when each passed last
#
# Nothing is skipped silently: what cannot run here fails and says how to repair it. SEED=... repeats
# the fresh seed of an earlier run.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=scripts/steps.sh
source "$checkout/scripts/steps.sh"
# shellcheck source=scripts/install.sh
source "$checkout/scripts/install.sh"
# shellcheck source=scripts/parts.sh
source "$checkout/scripts/parts.sh"
cd "$checkout"

# Where tests are run again and again in one folder, every build reuses the last. CI builds once: what only
# a next build would use would take 12 GB there, and lines of a backtrace an eighth of the compiler's time.
if [ "${CI:-}" = true ]; then export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none; else unset CARGO_INCREMENTAL; fi

# Tests in tests/ run the real binary, which building a test does not build.
build_binaries() { cargo build --workspace --bins --examples --all-features; }

gate() {
  trap 'report "not run at this depth: ${part_names[*]}; see scripts/test.sh --list"' EXIT
  rm -f target/nextest/*/junit.xml
  install_tools
  begin_timing

  step "requirements named by tests" scripts/requirements.sh
  step "format" cargo fmt --all --check
  step "contracts" node contracts/build.mjs --check
  step "compose files, by their schema" scripts/compose.sh
  step "lints" cargo clippy --workspace --all-targets --all-features -- -D warnings
  step "binary" build_binaries
  step "test binaries" cargo nextest run --workspace --all-features --no-run
  step "tests, fixed seed $fixed_seed" seeded "$fixed_seed" \
    cargo nextest run --workspace --all-features --profile gate
  step "random tests, fresh seed $fresh_seed" seeded "$fresh_seed" \
    cargo nextest run --workspace --all-features --profile gate-seeds -E "$(random_tests)"
  step "random tests, seeds of earlier failures" earlier_seeds
  step "HTTP interface, by generated requests" env API_EXAMPLES=10 scripts/api.sh
}

full() {
  local part
  trap 'report "parts: ${passed_parts[*]:-none} passed"' EXIT
  rm -f target/nextest/*/junit.xml
  install_tools
  begin_timing
  step "binary" build_binaries
  for part in "$@"; do run_part "$part"; done
}

case "${1:-}" in
  "") gate ;;
  --list) list_parts ;;
  --full)
    shift
    if [ $# -gt 0 ]; then known_parts "$@" && full "$@"; else full_where_needed; fi
    ;;
  *) die "unknown argument $1: see the first lines of this script" ;;
esac
