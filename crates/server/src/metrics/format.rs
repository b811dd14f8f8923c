//! Text formats of `/metrics`, and the choice between them by the `Accept` field (RFC 9110, section 12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use std::collections::HashSet;

/// A text format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFormat {
    /// The Prometheus text format, version 0.0.4.
    Plain,
    /// `OpenMetrics`, version 1.0.0.
    OpenMetrics,
}

impl TextFormat {
    /// Returns the format of the media range with the greatest weight, and of equal ones the first. Plain
    /// text is the default, also where no format is acceptable: a scraper without metrics helps nobody.
    pub(super) fn accepted(headers: &HeaderMap) -> TextFormat {
        let fields = headers.get_all(ACCEPT).iter();
        let fields = fields.filter_map(|field| field.to_str().ok());
        let ranges = fields.flat_map(|field| field.split(','));
        let (mut greatest, mut accepted) = (0.0, TextFormat::Plain);
        for (weight, format) in ranges.filter_map(weighed) {
            if weight > greatest {
                (greatest, accepted) = (weight, format);
            }
        }
        accepted
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            TextFormat::Plain => "text/plain; version=0.0.4; charset=utf-8",
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Converts `OpenMetrics` text to this format.
    pub(super) fn of_open_metrics(self, text: String) -> String {
        match self {
            TextFormat::Plain => plain(&text),
            TextFormat::OpenMetrics => text,
        }
    }
}

/// The weight of a media range and its format; `None` where `/metrics` has no such format.
fn weighed(range: &str) -> Option<(f32, TextFormat)> {
    let kind = range.split(';').next()?.trim().to_ascii_lowercase();
    let format = match (kind.as_str(), parameter(range, "version")) {
        ("application/openmetrics-text", None | Some("1.0.0")) => TextFormat::OpenMetrics,
        ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => TextFormat::Plain,
        _ => return None,
    };
    let weight = parameter(range, "q").unwrap_or("1").parse().ok()?;
    Some((weight, format))
}

/// The value of a parameter of a media range.
fn parameter<'a>(range: &'a str, name: &str) -> Option<&'a str> {
    let parameters = range.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.trim().split_once('='));
    let (_, value) = pairs.find(|(found, _)| found.eq_ignore_ascii_case(name))?;
    Some(value.trim_matches('"'))
}

/// `OpenMetrics` text in the Prometheus text format. The two differ, for what is written here, in the end
/// mark and in the descriptions of counters, which name their samples: `…_total`.
fn plain(open_metrics: &str) -> String {
    let types = open_metrics.lines();
    let types = types.filter_map(|line| line.strip_prefix("# TYPE "));
    let counters: HashSet<&str> = types
        .filter_map(|kind| kind.strip_suffix(" counter"))
        .collect();
    let mut plain = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        let described = line.strip_prefix("# ").and_then(|_| line.split(' ').nth(2));
        match described.filter(|name| counters.contains(name)) {
            Some(name) => plain.push_str(&line.replacen(name, &format!("{name}_total"), 1)),
            None => plain.push_str(line),
        }
        plain.push('\n');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn accepted(fields: &[&'static str]) -> TextFormat {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(ACCEPT, HeaderValue::from_static(field));
        }
        TextFormat::accepted(&headers)
    }

    #[test]
    fn the_accept_field_chooses_the_format_of_metrics() {
        const PROMETHEUS_3: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
            text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (fields, due) in [
            (&["*/*"][..], TextFormat::Plain),
            (&[], TextFormat::Plain),
            (&["text/html,*/*;q=0.8"], TextFormat::Plain),
            (&["text/plain"], TextFormat::Plain),
            (&["text/plain; version=0.0.4"], TextFormat::Plain),
            (&["application/openmetrics-text"], TextFormat::OpenMetrics),
            (
                &["Application/OpenMetrics-Text; Version=1.0.0"],
                TextFormat::OpenMetrics,
            ),
            (
                &["application/openmetrics-text; version=\"1.0.0\""],
                TextFormat::OpenMetrics,
            ),
            (&[PROMETHEUS_3], TextFormat::OpenMetrics),
            (
                &["application/openmetrics-text; version=0.0.1, text/plain; q=0.5"],
                TextFormat::Plain,
            ),
            (
                &["text/plain; q=0.5, application/openmetrics-text"],
                TextFormat::OpenMetrics,
            ),
            (
                &["text/plain, application/openmetrics-text; q=0.9"],
                TextFormat::Plain,
            ),
            (
                &["application/openmetrics-text, */*"],
                TextFormat::OpenMetrics,
            ),
            (&["*/*, application/openmetrics-text"], TextFormat::Plain),
            (
                &["text/plain; q=0.5", "application/openmetrics-text"],
                TextFormat::OpenMetrics,
            ),
            (&["application/openmetrics-text; q=0"], TextFormat::Plain),
            (&["application/openmetrics-text; q=most"], TextFormat::Plain),
            (&["application/json"], TextFormat::Plain),
        ] {
            assert_eq!(accepted(fields), due, "{fields:?}");
        }
    }

    #[test]
    fn plain_text_names_counters_as_their_samples() {
        let open_metrics = "# HELP x_messages Messages of x_messages.\n# TYPE x_messages counter\n\
            x_messages_total{code=\"# TYPE x counter\"} 3.0\n# HELP x_ready Ready.\n# TYPE x_ready gauge\n\
            x_ready 1.0\n# EOF\n";
        let due = "# HELP x_messages_total Messages of x_messages.\n# TYPE x_messages_total counter\n\
            x_messages_total{code=\"# TYPE x counter\"} 3.0\n# HELP x_ready Ready.\n# TYPE x_ready gauge\n\
            x_ready 1.0\n";
        assert_eq!(
            TextFormat::Plain.of_open_metrics(open_metrics.to_owned()),
            due
        );
        let kept = TextFormat::OpenMetrics.of_open_metrics(open_metrics.to_owned());
        assert_eq!(kept, open_metrics);
    }
}
