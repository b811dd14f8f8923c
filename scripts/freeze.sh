#!/usr/bin/env bash
# Writes what a structural step must not change into a new folder: golden files as they are stored and as the code
# writes them, state roots, refusals of payloads, every --help, openapi.json and the answers of a recorded session.
# Run it before and after the step and compare: `diff -r`.
#
#   scripts/freeze.sh DIR
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

[ $# -eq 1 ] || die "say where to: $0 DIR"
[ ! -e "$1" ] || die "$1 is there already: name a new folder"
mkdir -p "$1"
frozen="$(cd "$1" && pwd)"
cd "$checkout"

(cd tests && find vectors -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) >"$frozen/vectors"

# The tests that write where X811_FREEZE is set, each into files of its own.
X811_FREEZE="$frozen" cargo nextest run --workspace --all-features --profile gate \
  -E 'test(/(^|::)(golden(_[a-z]+)?|payload_rules|freeze)::/) or test(roots_over_golden_logs)'
LC_ALL=C sort -u "$frozen/refusals" -o "$frozen/refusals"

cargo build --workspace --all-features --bins --tests
target="${CARGO_TARGET_DIR:-$checkout/target}"
mkdir "$frozen/help"

# PROGRAM [VERB...]: its help, and that of the verbs below it. Help shows the variables that are set, so none is.
help_of() {
  local file="$*" verb
  file="$frozen/help/${file// /-}"
  env -i "$target/debug/$1" "${@:2}" --help >"$file" || die "$* --help failed"
  while read -r verb; do
    [ "$verb" = help ] || help_of "$@" "$verb"
  done < <(sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z0-9-]*\).*/\1/p' "$file")
}
help_of x811
help_of x811-bench

# PART COUNT: fails where a part has fewer files or lines than it had when this was written.
has() {
  local found
  found="$(if [ -d "$frozen/$1" ]; then find "$frozen/$1" -type f; else cat "$frozen/$1"; fi | wc -l)"
  [ "$found" -ge "$2" ] || die "$1 has $found entries, and should have $2 at least"
  printf '%6d %s\n' "$found" "$1"
}
has vectors 300
has golden 30
has state-roots 3
has refusals 500
has help 60
has openapi.json 1000
has session 300
