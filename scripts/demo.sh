#!/usr/bin/env bash
# Builds x811 and shows four interactions settle on a local Base. Arguments go to `x811 demo`.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_tools
install_npm_packages
anvil="$(anvil_path)"

binary="${CARGO_TARGET_DIR:-$checkout/target}/demo/x811"
if [ ! -x "$binary" ]; then
  echo "Building x811: the first build takes about 12 minutes on two cores, later ones seconds ..."
fi
cargo build --locked --manifest-path "$checkout/Cargo.toml" --profile demo --package x811-cli

exec "$binary" demo --anvil "$anvil" "$@"
