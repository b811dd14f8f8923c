#!/usr/bin/env bash
# Holds the compose files against the schema of the Compose Specification, as `check-jsonschema` has it.
# No container engine runs them here.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$checkout"

tools="${CARGO_TARGET_DIR:-$checkout/target}/compose"
pinned="$checkout/tests/compose/requirements.txt"
if ! cmp -s "$pinned" "$tools/installed.txt"; then
  "$(python)" -m venv --clear "$tools" || die "no Python environment could be made in $tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$pinned" ||
    die "check-jsonschema could not be installed from PyPI"
  cp "$pinned" "$tools/installed.txt"
fi

check() { "$tools/bin/check-jsonschema" --builtin-schema vendor.compose-spec "$@"; }

check packaging/compose/*.yml || die "a compose file is not as the Compose Specification has it"

# A key that is misspelled has to be found, or nothing was checked.
wrong="$(mktemp --suffix .yml)"
trap 'rm -f "$wrong"' EXIT
for key in healthcheck depends_on; do
  sed "s/$key:/${key}s:/" packaging/compose/postgres.yml >"$wrong"
  ! check "$wrong" >/dev/null || die "${key}s was taken for a key of a service"
done
echo "compose files are as the Compose Specification has them; no engine has run them"
