#!/usr/bin/env bash
# Installs the verifiers of other authors that the tests hold our logs, proofs and receipts against:
# those for Python, in an environment of their own under target/verifiers. Go's come with Debian.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

tools="${CARGO_TARGET_DIR:-$checkout/target}/verifiers/python"
pinned="$checkout/tests/verifiers/requirements.txt"
# What the SDK of XAP needs to make chains, and nothing of what else it can be used for.
xap="$checkout/tests/verifiers/xap-requirements.txt"
if ! cat "$pinned" "$xap" | cmp -s - "$tools/installed.txt"; then
  "$(python)" -m venv --clear "$tools" || die "no Python environment could be made in $tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
    --requirement "$pinned" || die "the verifiers could not be installed from PyPI"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps \
    --requirement "$xap" || die "the SDK of XAP could not be installed from PyPI"
  cat "$pinned" "$xap" > "$tools/installed.txt"
fi
