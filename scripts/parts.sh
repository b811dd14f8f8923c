# Sourced by test.sh: the parts of the full depth, and the stamps that they leave.
# shellcheck shell=bash

stamps="$target/full"

# Runs tests that the gate samples or leaves out, by a nextest expression, in the profile that gives them
# the time they need.
full_tests() {
  cargo nextest run --workspace --all-features --profile full --run-ignored all --success-output immediate -E "$1"
}

# `NAME=VALUE ...`: sizes of what follows, each unless whoever runs this has set another one.
sizes() {
  local pair
  for pair in "$@"; do
    printenv "${pair%%=*}" >/dev/null || export "${pair?}"
  done
}

# PART: one line of what it runs; then a function `part_PART`.
declare -A part_lines=()
part_names=()
part() {
  part_names+=("$1")
  part_lines[$1]="$2"
}

part features "lints and builds of the other sets of features: the default one, an auditor's"
part_features() {
  cargo clippy --workspace --all-targets -- -D warnings &&
    cargo check -p x811-cli --no-default-features
}

part docs "doc tests, and the documentation without a warning"
part_docs() {
  cargo test --workspace --all-features --doc &&
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps
}

# Not `advisories`: its database is fetched from the network, and a verdict that depends on the day cannot
# hold up a release.
part dependencies "cargo-deny: bans, licences, sources"
part_dependencies() {
  install_cargo_tool deny &&
    cargo deny --offline check --hide-inclusion-graph bans licenses sources
}

part forgeries "every lie about every member of every event"
part_forgeries() {
  sizes X811_FORGERIES=all X811_READ_FORGERIES=12 X811_PAIRS=1000 X811_TRACES=1
  full_tests 'package(x811-ledger) and test(/^adversary::/) or package(x811-tests) and test(/^forgeries::/)'
}

part flips "every flipped bit of a log, changed receipts and bundles by holders of earlier keys"
part_flips() {
  sizes X811_FLIP_STEP=1 X811_MUTATIONS=10000
  full_tests 'package(x811-ledger) and (test(/::flips::/) or test(mutations))'
}

part histories "random histories of chain, ledger, negotiations, sessions, rounds and trust"
part_histories() {
  sizes X811_HISTORIES=512 X811_LEDGER_HISTORIES=20 X811_TALKS=2000 X811_SESSION_HISTORIES=600 X811_TRUST=200 \
    X811_ROUND_SEEDS=5000 X811_LAPSES=5000
  full_tests 'test(/^histories::.*property/) or test(/^round::simulator/) or package(x811-ledger) and
    test(/^sequencer::(random|registry_random|interleavings|trust|session_random|lapses)::/)'
}

part chains "100 fresh chains of the SDK of XAP, and changes anywhere in them"
part_chains() {
  sizes X811_CHAINS=100
  full_tests 'package(x811-tests) and test(/^xap::/)'
}

part faults "100 kills, 30 system calls of each kind, 50 flips on disk, 1,024 connections, 50 exports, 4 rounds of take-overs"
part_faults() {
  sizes X811_KILLS=100 X811_SWEEP=30 X811_FLIPS=50 X811_CROWD=1024 X811_EXPORTS=50 X811_TAKEOVERS=4
  full_tests 'package(x811-tests) and test(/^faults::/)'
}

part soak "200 agents for five minutes, with cut streams, killed processes and restarts"
part_soak() {
  sizes X811_SOAK=long
  full_tests 'package(x811-tests) and test(/^soak::/)'
}

# All but the tests of what is in a directory.
part postgres "the tests of the real binary, their logs in PostgreSQL"
part_postgres() {
  local all='test(/^(stories|settlement|operations)::/)'
  local directory='test(/^operations::(backup|log_copy|postgres|reopen)::/) or test(/^operations::doctor::(indexes|rest_9)/) or test(/^stories::proofs::design_8/)'
  "$target/debug/on_postgres" cargo nextest run --all-features --profile gate --run-ignored all \
    -E "package(x811-tests) and $all and not ($directory)"
}

# Where X811_TEST_KURRENTDB_URL names no cluster, one of these says what was skipped.
part eventstore "the tests of the EventStoreDB adapter, and those of the real binary on its double"
part_eventstore() {
  cargo nextest run --workspace --all-features --profile gate --run-ignored all --success-output final \
    -E 'test(kurrent) or test(/^eventstore::/)'
}

part api "the HTTP interface, by generated requests"
part_api() {
  sizes API_EXAMPLES=100
  scripts/api.sh
}

part clients "clients generated from the description, in TypeScript and Python"
part_clients() { scripts/clients.sh; }

part packages "the packages for Python and Node, built, installed, killed in the middle"
part_packages() { scripts/packages.sh; }

part container "what the container's build reads, built from nothing else"
part_container() { full_tests 'test(the_container_has_all_that_its_build_reads)'; }

part demo "scripts/demo.sh, as the README has it"
part_demo() { scripts/demo.sh; }

part everything "every test at its ordinary size, those that the gate leaves out included"
part_everything() {
  cargo nextest run --workspace --all-features --profile gate --run-ignored all
}

known_parts() {
  local name
  for name in "$@"; do
    [ -n "${part_lines[$name]:-}" ] || die "there is no part $name: ${part_names[*]}"
  done
}

# What is tested: the commit, and whether the work tree differs from it.
tested_commit() {
  local commit
  commit="$(git rev-parse HEAD)"
  [ -z "$(git status --porcelain --untracked-files=no)" ] || commit="$commit+changes"
  printf '%s' "$commit"
}

# A stamp is one line: result, seconds, commit, date.
run_part() {
  local name="$1" started_s=$SECONDS result=passed
  printf '\n==> part %s: %s\n' "$name" "${part_lines[$name]}"
  mkdir -p "$stamps"
  ("part_$name") || result=failed
  printf '%s %s %s %s\n' "$result" "$((SECONDS - started_s))" "$(tested_commit)" "$(date -u +%FT%TZ)" >"$stamps/$name"
  step_names+=("part $name")
  step_seconds+=("$((SECONDS - started_s))")
  [ "$result" = passed ] || die "failed: part $name, after $((SECONDS - started_s)) s"
  passed_parts+=("$name")
}
passed_parts=()

# The parts without a stamp of this commit that passed.
full_where_needed() {
  local name result commit needed=()
  for name in "${part_names[@]}"; do
    read -r result _ commit _ 2>/dev/null <"$stamps/$name" || result=""
    if [ "$result" = passed ] && [ "$commit" = "$(tested_commit)" ]; then
      printf 'part %s: passed at this commit\n' "$name"
    else
      needed+=("$name")
    fi
  done
  full "${needed[@]}"
}

list_parts() {
  local name
  for name in "${part_names[@]}"; do
    printf '%-13s %s\n%-13s   last: %s\n' "$name" "${part_lines[$name]}" "" \
      "$(cat "$stamps/$name" 2>/dev/null || echo never)"
  done
}
