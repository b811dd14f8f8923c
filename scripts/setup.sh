# Sourced by the other scripts: what must be on the machine, what is installed, where anvil lies.
# shellcheck shell=bash

checkout="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
node_min_major=20

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

require_tools() {
  require git "install git (https://git-scm.com, or your system's package manager)"
  require cargo "install Rust with https://rustup.rs; Cargo.toml names the version that is needed"
  require cc "install a C compiler (Debian: apt-get install gcc; macOS: xcode-select --install): SQLite is built from source"
  require node "install Node.js $node_min_major or later (https://nodejs.org): anvil and solc come as npm packages"
  require npm "it comes with Node.js (https://nodejs.org)"
  local node_major
  node_major="$(node --print 'process.versions.node.split(".")[0]')"
  [ "$node_major" -ge "$node_min_major" ] ||
    die "Node.js $(node --version) is too old: install version $node_min_major or later"
}

require() {
  command -v "$1" >/dev/null 2>&1 || die "$1 is not installed: $2"
}

# A Python that has what we test with: aics-tlog is written for 3.12, and 3.11's parser fails now and
# then inside Hypothesis' deep recursion.
python() {
  local candidate
  for candidate in python3.14 python3.13 python3.12 python3 $(pyenv_pythons); do
    if "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  die "no Python 3.12 or later with venv is installed: the verifiers and Schemathesis need it (Debian 13: python3-venv; else pyenv, or https://www.python.org)"
}

pyenv_pythons() {
  command -v pyenv >/dev/null 2>&1 || return 0
  local version
  for version in $(pyenv versions --bare); do
    printf '%s\n' "$(pyenv prefix "$version")/bin/python3"
  done
}

# Installs anvil and solc as locked, only when they are missing or the lock is newer.
install_npm_packages() {
  local installed="$checkout/node_modules/.package-lock.json"
  if [ ! -e "$installed" ] || [ "$checkout/package-lock.json" -nt "$installed" ]; then
    echo "Installing anvil and solc from npm as package-lock.json pins them (50 MB) ..."
    (cd "$checkout" && npm ci --loglevel=error) || die "npm ci failed, see above"
  fi
  [ -x "$(anvil_path)" ] ||
    die "npm installed no anvil for this machine ($(uname -s) $(uname -m)): remove node_modules and try again"
}

# The real binary in npm's platform package: its wrapper would add a Node process.
anvil_path() {
  local os arch
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) die "anvil has no npm package for $(uname -s) that these scripts know" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) die "anvil has no npm package for $(uname -m)" ;;
  esac
  printf '%s\n' "$checkout/node_modules/@foundry-rs/anvil-$os-$arch/bin/anvil"
}
