#!/usr/bin/env bash
# Generates a client in TypeScript and one in Python from a ledger's own OpenAPI description, and
# compiles every line of both. Needs the binary that scripts/test.sh builds.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$checkout"

target="${CARGO_TARGET_DIR:-$checkout/target}"
x811="${X811_BINARY:-$target/debug/x811}"
[ -x "$x811" ] || die "$x811 is missing: cargo build -p x811-cli"
install_npm_packages

tools="$target/openapi-clients"
pinned="$checkout/tests/api/clients/requirements.txt"
if ! cmp -s "$pinned" "$tools/installed.txt"; then
  "$(python)" -m venv --clear "$tools" || die "no Python environment could be made in $tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$pinned" ||
    die "the generator could not be installed from PyPI"
  cp "$pinned" "$tools/installed.txt"
fi

work="$(mktemp -d)"
cleanup() {
  # It still writes while it ends.
  [ -z "${server:-}" ] || { kill "$server" 2>/dev/null || true; wait "$server" || true; }
  rm -rf "$work"
}
trap cleanup EXIT

# Nothing answers at that RPC address: the ledger is blind, which a description does not need.
env -u X811_BINARY "$x811" serve --json --data-dir "$work/ledger" --listen 127.0.0.1:0 --network local \
  --token 0x5FbDB2315678afecb367f032d93F642f64180aa3 --rpc http://127.0.0.1:1 \
  >"$work/started.json" 2>"$work/ledger.log" &
server=$!
for _ in $(seq 300); do
  [ -s "$work/started.json" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/ledger.log" >&2; die "the ledger did not start"; }
  sleep 0.1
done
"$tools/bin/python" - "$work" <<'PYTHON'
import json, sys, urllib.request
work = sys.argv[1]
url = json.load(open(f"{work}/started.json"))["url"]
# This machine is not asked through a proxy.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with direct.open(f"{url}/openapi.json") as answer:
    open(f"{work}/openapi.json", "wb").write(answer.read())
PYTHON

echo "TypeScript: the types, and a program that uses those of every payload"
cp tests/api/clients/{uses.ts,tsconfig.json} "$work/"
node_modules/.bin/openapi-typescript "$work/openapi.json" --output "$work/ledger.ts" >/dev/null
node_modules/.bin/tsc --project "$work/tsconfig.json"

echo "Python: every operation and every schema has a module, and each can be imported"
(cd "$work" && PATH="$tools/bin:$PATH" openapi-python-client generate --path openapi.json --meta none \
  --output-path x811_client --fail-on-warning >generated.log) ||
  { cat "$work/generated.log" >&2; die "the Python generator left something out"; }
"$tools/bin/python" tests/api/clients/import_all.py "$work"
