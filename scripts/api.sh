#!/usr/bin/env bash
# Starts a ledger, puts an interaction into it, and has Schemathesis send it requests generated from
# its own OpenAPI description: no failure is allowed. Needs the binary that scripts/test.sh builds.
# API_EXAMPLES: requests generated for each operation, 60 unless set.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$checkout"

target="${CARGO_TARGET_DIR:-$checkout/target}"
x811="${X811_BINARY:-$target/debug/x811}"
[ -x "$x811" ] || die "$x811 is missing: cargo build -p x811-cli"

tools="$target/schemathesis"
pinned="$checkout/tests/api/requirements.txt"
if ! cmp -s "$pinned" "$tools/installed.txt"; then
  "$(python)" -m venv --clear "$tools" || die "no Python environment could be made in $tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$pinned" ||
    die "Schemathesis could not be installed from PyPI"
  cp "$pinned" "$tools/installed.txt"
fi

work="$(mktemp -d)"
cleanup() {
  # It still writes while it ends.
  [ -z "${server:-}" ] || { kill "$server" 2>/dev/null || true; wait "$server" || true; }
  rm -rf "$work"
}
trap cleanup EXIT

# Nothing answers at that RPC address: the ledger is blind, which none of this needs.
env -u X811_BINARY "$x811" serve --json --data-dir "$work/ledger" --listen 127.0.0.1:0 --open-reads --network local \
  --token 0x5FbDB2315678afecb367f032d93F642f64180aa3 --rpc http://127.0.0.1:1 \
  >"$work/started.json" 2>"$work/ledger.log" &
server=$!
for _ in $(seq 100); do
  [ -s "$work/started.json" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/ledger.log" >&2; die "the ledger did not start"; }
  sleep 0.1
done

member() { "$tools/bin/python" -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
X811_API="$(member url <"$work/started.json")"
cli() { "$x811" --json --ledger "$X811_API" --home "$work/agents" "$@"; }
for name in ada bert; do
  cli agent new "$name" >"$work/$name.json"
  cli --agent "$name" agent register --capability echo >/dev/null
done
provider="$(member did <"$work/bert.json")"
interaction="$(cli --agent ada send request --to "$provider" --task echo --budget 1 --deadline 60)"
X811_INTERACTION="$(member interaction_id <<<"$interaction")"
cli --agent bert send offer "$X811_INTERACTION" --price 0.5 --time 5 >/dev/null
X811_AGENT_UUID="${provider##*:}"
export X811_API

cd "$work"
config="$checkout/tests/api/schemathesis.toml"
generate() {
  "$tools/bin/schemathesis" --config-file "$1" run "$X811_API/openapi.json" --workers 2 --no-color \
    --max-examples "${API_EXAMPLES:-60}"
}
generate "$config"
# Top-level keys stand before the first table.
{
  printf 'parameters = { "path.uuid" = "%s", "path.id" = "%s" }\n' \
    "$X811_AGENT_UUID" "$X811_INTERACTION"
  cat "$config"
} >known-ids.toml
generate known-ids.toml

if grep -E '"level":"ERROR"|panicked| ERROR ' "$work/ledger.log"; then
  die "the ledger logged errors, see above"
fi
