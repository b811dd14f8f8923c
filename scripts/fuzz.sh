#!/usr/bin/env bash
# Fuzzes every reader of strangers' bytes, one target after the other on one core.
#
#   scripts/fuzz.sh [seconds per target, 600] [target ...]
#
# What is found stays in tests/vectors/fuzz/<target>, minimised, and is replayed by the ordinary
# tests (tests/tests/conformance/corpora.rs). A crash stops the run; its input is in fuzz/artifacts/<target>.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="${1:-600}"
shift $(($# > 0 ? 1 : 0))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(envelope payload registry signed_read record export document
  note policy tile tlog_proof receipt)

# libFuzzer's coverage flags are unstable; the code itself is built by the stable compiler.
export RUSTC_BOOTSTRAP=1
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz

for target in "${targets[@]}"; do
  kept="tests/vectors/fuzz/$target" grown="fuzz/corpus/$target"
  mkdir -p "$kept" "$grown"
  # Without the sanitizer: there is no unsafe code of ours, and the runs are many times faster.
  nice -n 19 cargo fuzz run "$target" -s none "$grown" "$kept" -- \
    -dict=fuzz/x811.dict -max_len=20000 -timeout=20 -max_total_time="$seconds" \
    -print_final_stats=1
done
