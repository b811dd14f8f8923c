#!/usr/bin/env bash
# Installs what the tests need and runs all of them, in order, up to the first failure.
# CI runs exactly this. Nothing is skipped: what cannot run here fails and says how to mend it.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$checkout"

# Where tests are run again and again in one folder, every build reuses the last. CI builds once, and
# what only a next build would use would take 12 GB there.
if [ "${CI:-}" = true ]; then export CARGO_INCREMENTAL=0; else unset CARGO_INCREMENTAL; fi

step() {
  local name="$1" started_s=$SECONDS
  shift
  printf '\n==> %s\n' "$name"
  "$@" || die "failed: $name, after $((SECONDS - started_s)) s"
  printf '    %s: %s s\n' "$name" "$((SECONDS - started_s))"
}

# Built from crates.io where they are missing: cargo-nextest takes about 5 minutes on two cores,
# cargo-deny about 3, with 141 crates.
install_cargo_tool() {
  cargo "$1" --version 2>/dev/null || cargo install --locked "cargo-$1"
}

# The fault tests make single system calls fail, mount small disks, and look at files a day later.
install_fault_tools() {
  command -v strace >/dev/null 2>&1 && command -v faketime >/dev/null 2>&1 && return
  [ "$(uname -s)" = Linux ] || die "the fault tests need Linux: strace, faketime and tmpfs"
  command -v apt-get >/dev/null 2>&1 ||
    die "strace or faketime is not installed: install them with your system's package manager"
  apt-get install --yes --no-install-recommends strace faketime ||
    die "strace and faketime could not be installed: run this as root, or install them by hand"
}

# Go's own transparency log code checks ours.
install_go() {
  command -v go >/dev/null 2>&1 && [ -d /usr/share/gocode/src/golang.org/x/mod/sumdb/tlog ] && return
  command -v apt-get >/dev/null 2>&1 ||
    die "Go and golang.org/x/mod in /usr/share/gocode are not installed: use Debian, or a system like it"
  apt-get install --yes --no-install-recommends golang-go golang-golang-x-mod-dev ||
    die "Go could not be installed: run this as root, or install golang-go and golang-golang-x-mod-dev by hand"
}

# A real browser shows the auditor's page, and must find nothing in it to run or to ask for.
install_chromium() {
  command -v chromium >/dev/null 2>&1 && return
  command -v apt-get >/dev/null 2>&1 ||
    die "chromium is not installed: install it with your system's package manager, under this name"
  apt-get install --yes --no-install-recommends chromium ||
    die "Chromium could not be installed: run this as root, or install it by hand"
}

# The tests start servers of their own; the one that Debian starts is left alone, or not started.
install_postgresql() {
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && return
  command -v postgres >/dev/null 2>&1 && command -v initdb >/dev/null 2>&1 && return
  command -v apt-get >/dev/null 2>&1 ||
    die "PostgreSQL is not installed: install its server, 15.13, 16.9, 17.5 or newer"
  apt-get install --yes --no-install-recommends postgresql ||
    die "PostgreSQL could not be installed: run this as root, or install it by hand"
}

# systemd's own reader checks the unit; it need not run.
install_systemd() {
  command -v systemd-analyze >/dev/null 2>&1 && return
  command -v apt-get >/dev/null 2>&1 || die "systemd-analyze is not installed: install systemd with your system's package manager"
  apt-get install --yes --no-install-recommends systemd ||
    die "systemd could not be installed: run this as root, or install it by hand"
}

# Stories whose ledgers keep their logs in PostgreSQL: some, or with X811_TEST_STORE=postgres all but
# those about what lies in a directory. They are built by the step before.
stories_on_postgresql() {
  local all='binary(stories) or binary(settlement) or binary(operations)'
  local directory='test(/^(backup|log_copy|postgres|reopen)::/) or test(/^(doctor::(indexes|rest_9)|proofs::design_8)/)'
  local chosen='test(/^(erasure|haggling|kill|refusal|settlement)::/) and binary(stories)'
  case "${X811_TEST_STORE:-}" in
    "") ;;
    postgres) chosen='all()' ;;
    *) die "X811_TEST_STORE is postgres, or not set: ${X811_TEST_STORE}" ;;
  esac
  "${CARGO_TARGET_DIR:-target}/debug/on_postgres" cargo nextest run --workspace --profile ci \
    -E "package(x811-tests) and ($all) and not ($directory) and ($chosen)"
}

# The binary that takes a log in EventStoreDB, and its stories on the double. It stays where the one without
# it was, so this comes behind all that use that one.
stories_on_a_double() {
  cargo build -p x811-cli -p x811-store --features x811-cli/eventstore --bin x811 --example eventstore_double &&
    cargo nextest run -p x811-tests --features eventstore --test eventstore --profile ci
}

require_tools
step "systemd-analyze" install_systemd
step "strace and faketime" install_fault_tools
step "PostgreSQL" install_postgresql
step "Chromium" install_chromium
step "Go" install_go
step "verifiers of other authors" scripts/verifiers.sh
step "npm packages" install_npm_packages
step "cargo-nextest" install_cargo_tool nextest
step "cargo-deny" install_cargo_tool deny
# Every platform's crates, so that licences and arrows are checked for all of them.
step "crates as locked" cargo fetch --locked

step "requirements named by tests" scripts/requirements.sh
step "format" cargo fmt --all --check
step "lints" cargo clippy --workspace --all-targets -- -D warnings
step "the auditor's build" cargo check -p x811-cli --no-default-features
step "lints, EventStoreDB" cargo clippy -p x811-store -p x811-tests --all-targets \
  --features x811-store/eventstore,x811-tests/eventstore -- -D warnings
# The stories in tests/ run the real binary, which building a test does not build.
step "binary" cargo build --workspace --bins --examples
step "doc tests" cargo test --workspace --doc
step "tests" cargo nextest run --workspace --profile ci
# Where X811_TEST_KURRENTDB_URL names no cluster, one of these says what was skipped.
step "stories on PostgreSQL" stories_on_postgresql
step "tests, EventStoreDB" cargo nextest run -p x811-store --features eventstore --profile ci \
  --success-output final kurrent
step "HTTP interface, by generated requests" scripts/api.sh
step "clients generated from the description" scripts/clients.sh
step "packages for Python and Node" scripts/packages.sh
step "compose files, by their schema" scripts/compose.sh
step "stories of the binary, EventStoreDB double" stories_on_a_double
step "docs" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
step "contracts" node contracts/build.mjs --check
# Not `advisories`: its database is fetched from the network, and a verdict that depends on the
# day cannot gate a commit.
step "dependencies: bans, licences, sources" \
  cargo deny --offline check --hide-inclusion-graph bans licenses sources

printf '\nAll steps passed in %s s.\n' "$SECONDS"
