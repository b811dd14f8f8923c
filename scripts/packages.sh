#!/usr/bin/env bash
# Builds the wheel `x811-py` and the npm package `x811`, installs each as users do, and has both buy and
# sell at a ledger and a chain of their own, killed in the middle. Needs the binary that scripts/test.sh
# builds.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$checkout"

target="${CARGO_TARGET_DIR:-$checkout/target}"
binary="$target/debug/x811"
[ -x "$binary" ] || die "$binary is missing: cargo build --workspace --bins --examples"
require cargo "install Rust with https://rustup.rs"
require node "install Node.js $node_min_major or later (https://nodejs.org)"
require npm "it comes with Node.js (https://nodejs.org)"
install_npm_packages
anvil="$(anvil_path)"

tools="$target/packages/maturin"
pinned="$checkout/tests/packages/requirements.txt"
if ! cmp -s "$pinned" "$tools/installed.txt"; then
  "$(python)" -m venv --clear "$tools" || die "no Python environment could be made in $tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$pinned" ||
    die "maturin could not be installed from PyPI"
  cp "$pinned" "$tools/installed.txt"
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# The command of a package is the very binary that was built, and says its version.
is_the_binary() {
  cmp "$1" "$binary" || die "$1 is not the binary that was built"
  [ "$("$2" --version)" = "$("$binary" --version)" ] || die "$2 does not say the version of $binary"
}

echo "the wheel: built by maturin"
# maturin asks Cargo for the one binary, and Cargo chooses features by what it is asked for: it would
# build a second one with its dependencies. Asked for all that scripts/test.sh builds, it has it.
cat >"$work/cargo" <<SHIM
#!/usr/bin/env bash
[ "\$1" = rustc ] || exec cargo "\$@"
exec cargo build --locked --workspace --bins --examples --all-features --manifest-path "$checkout/Cargo.toml" \\
  --target-dir "$target" --message-format json-render-diagnostics
SHIM
chmod +x "$work/cargo"
(cd packaging/python && CARGO="$work/cargo" "$tools/bin/maturin" build --quiet --profile dev \
  --target-dir "$target" --out "$work/wheel") || die "maturin failed, see above"

"$(python)" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$work"/wheel/x811_py-*.whl ||
  die "the wheel could not be installed with what it needs from PyPI"
is_the_binary "$work/venv/bin/x811" "$work/venv/bin/x811"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import metadata, files
said = metadata("x811-py")
assert said["License-Expression"] == "MIT OR Apache-2.0" and said["License-File"] == "LICENSE", said.items()
assert any(str(file).endswith("licenses/LICENSE") for file in files("x811-py")), "the licence is in the wheel"
PYTHON
"$work/venv/bin/python" tests/packages/forms.py
"$work/venv/bin/python" tests/packages/payloads.py
"$work/venv/bin/python" tests/packages/proxies.py "$work/venv/bin/python" tests/packages/reader.py
"$work/venv/bin/python" tests/packages/clock.py "$work/venv/bin/python" tests/packages/clock_reader.py
"$work/venv/bin/python" tests/packages/play.py "$work/venv/bin/x811" "$anvil" \
  "$work/venv/bin/python" "$checkout/tests/packages/agent.py"

echo "the npm package: packed, installed from the tarball"
mkdir "$work/npm" "$work/app"
cp -R packaging/npm/. LICENSE "$work/npm/"
cp "$binary" "$work/npm/bin/x811"
node - "$work/npm/package.json" "$("$binary" --version)" <<'NODE'
const [file, said] = process.argv.slice(2);
const { version } = JSON.parse(require("node:fs").readFileSync(file, "utf8"));
if (said !== `x811 ${version}`) throw new Error(`package.json is of version ${version}, the binary is ${said}`);
NODE
tarball="$(cd "$work/npm" && npm pack --silent --pack-destination "$work")" || die "npm pack failed, see above"
printf '{"private":true,"type":"module"}\n' >"$work/app/package.json"
(cd "$work/app" && npm install --silent --no-audit --no-fund --offline "$work/$tarball") ||
  die "the tarball could not be installed, see above"
cp tests/packages/{agent,forms,payloads,reader,clock_reader}.mjs tests/packages/uses.ts "$work/app/"
is_the_binary "$work/app/node_modules/x811/bin/x811" "$work/app/node_modules/.bin/x811"
[ -f "$work/app/node_modules/x811/LICENSE" ] || die "the licence is not in the tarball"
(cd "$work/app" && "$checkout/node_modules/.bin/tsc" --noEmit --strict --module nodenext --target es2022 uses.ts)
(cd "$work/app" && node forms.mjs "$checkout/tests" && node payloads.mjs)
"$work/venv/bin/python" tests/packages/proxies.py node "$work/app/reader.mjs"
"$work/venv/bin/python" tests/packages/clock.py node "$work/app/clock_reader.mjs"
"$work/venv/bin/python" tests/packages/play.py "$work/app/node_modules/.bin/x811" "$anvil" \
  node "$work/app/agent.mjs"
