# Sourced by test.sh: steps with their seconds, seeds, and the report at the end.
# shellcheck shell=bash

target="${CARGO_TARGET_DIR:-$checkout/target}"
step_names=()
step_seconds=()
timing_from=0

# Every run repeats this one.
fixed_seed=811
# And one that no run had before, unless SEED names it.
fresh_seed="${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"

step() {
  local name="$1" started_s=$SECONDS
  shift
  printf '\n==> %s\n' "$name"
  "$@" || die "failed: $name, after $((SECONDS - started_s)) s"
  step_names+=("$name")
  step_seconds+=("$((SECONDS - started_s))")
  printf '    %s: %s s\n' "$name" "$((SECONDS - started_s))"
}

# What came before was installation.
begin_timing() { timing_from=$SECONDS; }

# Runs a command whose random tests take this seed, those of proptest and those with dice of their own.
seeded() {
  local seed="$1"
  shift
  PROPTEST_RNG_SEED="$seed" X811_SEED="$seed" "$@"
}

# A nextest expression of the tests that a seed decides: those in `proptest!`, and those in files that make a
# `TestRunner`, take dice or read the seed.
random_tests() {
  local names
  names="$(find crates tests/tests -name '*.rs' -exec awk '
    FNR == 1 { in_block = 0; in_test = 0; has_dice = 0 }
    /TestRunner|Dice::roll|Dice::seeded|X811_SEED/ { has_dice = 1 }
    /^ *proptest! *\{/ { in_block = 1 }
    /^\}/ { in_block = 0 }
    /^ *#\[(tokio::)?test[](]/ { in_test = 1; next }
    in_test && match($0, /fn [a-z0-9_]+/) {
      name = substr($0, RSTART + 3, RLENGTH - 3)
      if (in_block) print name; else waiting[FILENAME] = waiting[FILENAME] " " name
      in_test = 0
    }
    has_dice { dice[FILENAME] = 1 }
    END { for (file in dice) { n = split(waiting[file], w, " "); for (i = 1; i <= n; i++) print w[i] } }
  ' {} + | sort -u | paste -sd '|')"
  [ -n "$names" ] || die "no random test was found"
  printf 'test(/(^|::)(%s)$/)\n' "$names"
}

# Seeds that once failed: `SEED TEST` in each line of tests/seeds.txt.
earlier_seeds() {
  local seed name
  while read -r seed name; do
    case "$seed" in "" | "#"*) continue ;; esac
    seeded "$seed" cargo nextest run --workspace --all-features --profile gate-seeds -E "test($name)" || return 1
  done <tests/seeds.txt
}

# Steps with seconds, the slowest tests, the seeds, and what was not run.
report() {
  local not_run="$1" i
  printf '\n== Report\n\n%8s  step\n' seconds
  for i in "${!step_names[@]}"; do printf '%8s  %s\n' "${step_seconds[i]}" "${step_names[i]}"; done
  printf '%8s  all, of these %s s installation\n\n' "$SECONDS" "$timing_from"
  "$(python)" scripts/slowest.py target/nextest/*/junit.xml || true
  printf '\nseeds: %s and %s (SEED=%s scripts/test.sh repeats it)\n%s\n' \
    "$fixed_seed" "$fresh_seed" "$fresh_seed" "$not_run"
}
