# Sourced by test.sh: installs what the tests need where it is missing, or says how to.
# shellcheck shell=bash

# Installs Debian packages; `hint` says what else would do.
install_packages() {
  local hint="$1"
  shift
  command -v apt-get >/dev/null 2>&1 || die "$* is not installed: $hint"
  [ -n "${package_lists_updated:-}" ] || apt-get update --quiet || die "the lists of Debian packages could not be updated"
  package_lists_updated=yes
  apt-get install --yes --no-install-recommends "$@" ||
    die "$* could not be installed: run this as root, or $hint"
}

# The same, unless the program is there.
install_program() {
  local program="$1"
  shift
  command -v "$program" >/dev/null 2>&1 || install_packages "$@"
}

# Built from crates.io where it is missing, which takes minutes.
install_cargo_tool() {
  cargo "$1" --version 2>/dev/null || cargo install --locked "cargo-$1"
}

# The fault tests make single system calls fail, mount small disks, and look at files a day later.
install_fault_tools() {
  [ "$(uname -s)" = Linux ] || die "the fault tests need Linux: strace, faketime and tmpfs"
  install_program strace "install strace with your system's package manager" strace
  install_program faketime "install faketime with your system's package manager" faketime
}

# Go's own transparency log code checks ours.
install_go() {
  command -v go >/dev/null 2>&1 && [ -d /usr/share/gocode/src/golang.org/x/mod/sumdb/tlog ] && return
  install_packages "install golang-go and golang-golang-x-mod-dev by hand" golang-go golang-golang-x-mod-dev
}

# The tests start servers of their own; the one that Debian starts is left alone, or not started.
install_postgresql() {
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && return
  command -v initdb >/dev/null 2>&1 ||
    install_program postgres "install its server, 15.13, 16.9, 17.5 or newer" postgresql
}

# What both depths need.
install_tools() {
  require_tools
  # systemd's own reader checks the unit; it need not run.
  step "systemd-analyze" install_program systemd-analyze "install systemd with your system's package manager" systemd
  step "strace and faketime" install_fault_tools
  step "PostgreSQL" install_postgresql
  # A real browser shows the auditor's page, and must find nothing in it to run or to ask for.
  step "Chromium" install_program chromium "install it with your system's package manager, under this name" chromium
  step "Go" install_go
  step "verifiers of other authors" scripts/verifiers.sh
  step "npm packages" install_npm_packages
  step "cargo-nextest" install_cargo_tool nextest
  # Every platform's crates, so that licences and arrows are checked for all of them.
  step "crates as locked" cargo fetch --locked
}
