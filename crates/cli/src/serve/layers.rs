//! Defaults, then the file, then environment and command line: the later layer wins, key by key.
//!
//! What is wrong in a file is said with its line and key, but never by quoting the line: it may
//! hold the address of an endpoint, and that a key.

use std::ops::Range;
use std::path::Path;

use toml::{Table, Value};

use super::settings::Settings;
use crate::bounded;
use crate::failure::Failure;

/// Most bytes of a file of settings.
const MAX_BYTES: usize = 1 << 20;

/// Most faults of one file that are named.
const MOST_FAULTS: usize = 16;

/// Between two faults.
const ALSO: &str = " · ";

/// Names further apart than this are not offered for each other.
const NEAR: f64 = 0.7;

/// Reads a layer from a file.
pub(super) fn read(path: &Path) -> Result<Settings, Failure> {
    let text = bounded::text(path, MAX_BYTES).map_err(|error| {
        fault(path, &format!("it cannot be read: {error}"))
            .hint("name a readable TOML file with --config, or leave the option out")
    })?;
    parse(path, &text)
}

/// The layer `text` is; `path` is for messages. A refusal names all that is wrong, up to [`MOST_FAULTS`].
pub(super) fn parse(path: &Path, text: &str) -> Result<Settings, Failure> {
    let mut rest = text.to_owned();
    let mut faults = Vec::new();
    loop {
        let error = match toml::from_str(&rest) {
            Ok(settings) if faults.is_empty() => return Ok(settings),
            Ok(_) => break,
            Err(error) => error,
        };
        let lines = lines_of(&rest, error.span());
        faults.push((
            lines.start,
            explained_at(&rest, lines.start, error.message()),
        ));
        let next = without(&rest, lines);
        // Where what is left is no TOML, or nothing could be left out, no more can be said.
        if faults.len() == MOST_FAULTS || next == rest || next.parse::<Table>().is_err() {
            break;
        }
        rest = next;
    }
    faults.sort();
    let sentences: Vec<String> = faults.into_iter().map(|(_, sentence)| sentence).collect();
    Err(fault(path, &sentences.join(ALSO))
        .hint("correct it, then try `x811 serve --check --config FILE`"))
}

/// The lines, from 0, that `span` touches.
fn lines_of(text: &str, span: Option<Range<usize>>) -> Range<usize> {
    let span = span.unwrap_or(0..0);
    let lines_before = |end: usize| text.get(..end).unwrap_or(text).matches('\n').count();
    let first = lines_before(span.start);
    first..lines_before(span.end).max(first) + 1
}

/// `text` with empty lines in place of `lines`; a section goes with all that stands in it.
fn without(text: &str, lines: Range<usize>) -> String {
    let opens_section = |line: &str| line.trim_start().starts_with('[');
    let is_section = text.lines().nth(lines.start).is_some_and(opens_section);
    let mut is_left_out = false;
    let kept = text.lines().enumerate().map(|(number, line)| {
        let goes_on = is_section && is_left_out && !opens_section(line);
        is_left_out = lines.contains(&number) || goes_on;
        if is_left_out { "" } else { line }
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// What is wrong in `line`, from 0, of `text`.
fn explained_at(text: &str, line: usize, message: &str) -> String {
    let number = line + 1;
    let place = match key_of_line(text, line) {
        Some(key) => format!("line {number}, key `{key}`"),
        None => format!("line {number}"),
    };
    format!("{place}: {}", explained(message))
}

/// `over` on top of `base`.
pub(super) fn merge(base: &Settings, over: &Settings) -> Result<Settings, Failure> {
    let mut merged = table(base)?;
    let over = table(over)?;
    // The two ways to give an endpoint are one setting: the higher layer's way displaces both.
    for (section, endpoint) in [
        ("network", ["rpc_url", "rpc_url_file"]),
        ("network", ["ws_url", "ws_url_file"]),
        ("network", ["second_rpc_url", "second_rpc_url_file"]),
        ("network", ["second_ws_url", "second_ws_url_file"]),
        ("store", ["url", "url_file"]),
        ("store", ["log_url", "log_url_file"]),
    ] {
        let gives_endpoint = over
            .get(section)
            .and_then(Value::as_table)
            .is_some_and(|network| endpoint.iter().any(|key| network.contains_key(*key)));
        if gives_endpoint && let Some(Value::Table(network)) = merged.get_mut(section) {
            for key in endpoint {
                network.remove(key);
            }
        }
    }
    lay(&mut merged, over);
    merged
        .try_into()
        .map_err(|_| Failure::internal("two valid layers of settings do not make a third"))
}

fn lay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn table(settings: &Settings) -> Result<Table, Failure> {
    Table::try_from(settings)
        .map_err(|_| Failure::usage("a number is larger than TOML can hold, 2^63 - 1"))
}

fn fault(path: &Path, message: &str) -> Failure {
    Failure::local("config", format!("{}: {message}", path.display()))
}

/// The key that the line begins with. What is no bare key, a line of a list say, may hold an address.
fn key_of_line(text: &str, line: usize) -> Option<&str> {
    let line = text.lines().nth(line)?.trim();
    let key = match line.strip_prefix('[') {
        Some(section) => section.trim_end_matches(']'),
        None => line.split_once('=')?.0,
    };
    let key = key.trim();
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    key.bytes().all(is_bare).then_some(key)
}

/// serde names an unknown key and all known ones between backticks; a person wants the nearest.
fn explained(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message
        .starts_with("unknown field")
        .then(|| quoted.next())
        .flatten();
    if let Some(unknown) = unknown {
        let known: Vec<&str> = quoted.collect();
        return match nearest(unknown, &known) {
            Some(near) => format!("there is no `{unknown}` here; did you mean `{near}`?"),
            None if known.contains(&"server") => format!(
                "there is no `{unknown}` outside of a section: put it under the one that \
                 packaging/x811.toml has it in, of [{}]",
                known.join("], [")
            ),
            None => format!(
                "there is no `{unknown}` here; there are {}",
                known.join(", ")
            ),
        };
    }
    if message.contains("://") {
        return "the value has the wrong type or form".to_owned();
    }
    message.to_owned()
}

/// The known name that was probably meant.
pub(super) fn nearest<'k>(unknown: &str, known: &[&'k str]) -> Option<&'k str> {
    let near = |name: &&&str| strsim::jaro_winkler(unknown, name);
    known
        .iter()
        .max_by(|a, b| near(a).total_cmp(&near(b)))
        .filter(|name| near(name) >= NEAR)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str) -> Settings {
        parse(Path::new("x811.toml"), text).unwrap()
    }

    fn refused(text: &str) -> String {
        parse(Path::new("x811.toml"), text).unwrap_err().message
    }

    #[test]
    fn an_unknown_key_is_named_with_the_nearest_known_one() {
        let table = [
            (
                "[server]\nlistn = \"127.0.0.1:1\"\n",
                "x811.toml: line 2, key `listn`: there is no `listn` here; did you mean `listen`?",
            ),
            (
                "\n[netwrok]\n",
                "x811.toml: line 2, key `netwrok`: there is no `netwrok` here; did you mean \
                 `network`?",
            ),
            (
                "[log]\nqqq = 1\n",
                "x811.toml: line 2, key `qqq`: there is no `qqq` here; there are readers, \
                 format, filter",
            ),
        ];
        for (text, message) in table {
            assert_eq!(refused(text), message);
        }
    }

    #[test]
    fn a_wrong_value_is_named_by_line_and_key() {
        for (text, place, why) in [
            (
                "[windows]\n\noffer_ms = \"long\"\n",
                "line 3, key `offer_ms`",
                "string",
            ),
            (
                "[network]\npreset = \"mainnet\"\n",
                "line 2, key `preset`",
                "base-sepolia",
            ),
            (
                "[network]\ntoken = \"0x00\"\n",
                "line 2, key `token`",
                "EIP-55",
            ),
            ("[server]\nlisten = \n", "line 2, key `listen`", ""),
        ] {
            let message = refused(text);
            assert!(
                message.contains(place) && message.contains(why),
                "{message}"
            );
        }
    }

    #[test]
    fn all_that_is_wrong_is_named_at_once() {
        let text = "[server]\nlistn = \"127.0.0.1:1\"\n[netwrok]\nname = 1\n[windows]\n\
                    offer_ms = \"long\"\naccept_ms = 30000\nverify_ms = [\n  1,\n]\n";
        let message = refused(text);
        let places = [
            "line 2, key `listn`",
            "line 3, key `netwrok`",
            "line 6, key `offer_ms`",
        ];
        for place in places.into_iter().chain(["line 8, key `verify_ms`"]) {
            assert!(message.contains(place), "{place}: {message}");
        }
        assert_eq!(message.matches("line ").count(), 4, "{message}");
        let message = refused("[server]\nlisten = \n[netwrok]\n");
        for place in ["line 2, key `listen`", "line 3, key `netwrok`"] {
            assert!(message.contains(place), "{place}: {message}");
        }
        // What is left of this is no TOML.
        let message = refused("[server]\nlisten = [\n[netwrok]\n");
        assert_eq!(message.matches("line ").count(), 1, "{message}");
        let many: String = (0..20).map(|number| format!("qqq{number} = 1\n")).collect();
        assert_eq!(refused(&many).matches("line ").count(), MOST_FAULTS);
    }

    #[test]
    fn what_is_refused_never_quotes_an_address() {
        for text in [
            "[network]\nchain_id = \"https://host/SECRET\"\n",
            "[network]\nrpc_url = \"https://host/SECRET\n",
            "[network]\nrpc_url = [\"https://host/SECRET\"]\n",
            "[windows]\nlooks_ms = [\n  \"https://host/SECRET?key=1\",\n]\n",
        ] {
            assert!(!refused(text).contains("SECRET"), "{}", refused(text));
        }
    }

    #[test]
    fn the_higher_layer_wins_key_by_key() {
        let low = layer(
            "[server]\nlisten = \"127.0.0.1:1\"\nopen_reads = true\n[log]\nfilter = \"warn\"\n",
        );
        let high = layer("[server]\nopen_reads = false\n");
        let both = merge(&low, &high).unwrap();
        assert_eq!(both.server.listen, low.server.listen);
        assert_eq!(both.server.open_reads, Some(false));
        assert_eq!(both.log.filter.as_deref(), Some("warn"));
    }

    #[test]
    fn one_layer_names_the_endpoint() {
        let low = layer("[network]\nrpc_url = \"http://low\"\n");
        let high = layer("[network]\nrpc_url_file = \"high\"\n");
        let both = merge(&low, &high).unwrap().network;
        assert!(both.rpc_url.is_none() && both.rpc_url_file.is_some());
        let both = merge(&high, &low).unwrap().network;
        assert!(both.rpc_url.is_some() && both.rpc_url_file.is_none());
    }
}
