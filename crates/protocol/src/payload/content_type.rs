//! The grammar of a MIME type (RFC 9110 section 8.3.1), enough to tell a type from other text.

/// The longest content type a record holds, in characters (record.md section 1).
const CONTENT_TYPE_CHARS: usize = 128;

/// Whether `text` is `type/subtype` with optional parameters, at most 128 characters (AE-59).
pub(crate) fn is_content_type(text: &str) -> bool {
    if text.len() > CONTENT_TYPE_CHARS {
        return false;
    }
    let essence_length = text.find([';', ' ', '\t']).unwrap_or(text.len());
    let (essence, parameters) = text.split_at(essence_length);
    let is_essence = essence
        .split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    is_essence && are_parameters(parameters)
}

/// `*( OWS ";" OWS token "=" ( token / quoted-string ) )`
fn are_parameters(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let Some(parameter) = rest.trim_start_matches(OWS).strip_prefix(';') else {
            return false;
        };
        let Some((name, value)) = parameter.trim_start_matches(OWS).split_once('=') else {
            return false;
        };
        let value_length = match value.strip_prefix('"') {
            Some(quoted) => quoted_length(quoted).map(|length| length + 1),
            None => Some(value.find([';', ' ', '\t']).unwrap_or(value.len())),
        };
        let Some((value, behind)) = value_length.map(|length| value.split_at(length)) else {
            return false;
        };
        if !is_token(name) || !(value.starts_with('"') || is_token(value)) {
            return false;
        }
        rest = behind;
    }
    true
}

/// Optional white space.
const OWS: [char; 2] = [' ', '\t'];

/// The length of a quoted string from behind its opening quote to behind its closing one.
fn quoted_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return Some(place + 1),
            b'\t' | b' '..=b'~' => is_escaped = byte == b'\\' && !is_escaped,
            _ => return None,
        }
    }
    None
}

fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_059_mime_types() {
        for good in [
            "application/json",
            "text/plain",
            "TEXT/Plain",
            "application/vnd.x811.result+json",
            "text/plain;charset=utf-8",
            "text/plain ; charset=\"utf-8\"; a=b",
            "multipart/mixed; boundary=\"a;\\\"b\"",
        ] {
            assert!(is_content_type(good), "{good}");
        }
        for bad in [
            "",
            "/",
            "json",
            "text/",
            "/plain",
            "text/plain/x",
            "text /plain",
            " text/plain",
            "text/plain ",
            "text/plain;",
            "text/plain; charset",
            "text/plain; charset=",
            "text/plain; =utf-8",
            "text/plain; a=\"unclosed",
            "text/plain; a=\"b\"c",
            "text/plain\u{7}",
            "text/plän",
            "text/html\r\nx: y",
        ] {
            assert!(!is_content_type(bad), "{bad:?}");
        }
        let longest = format!("text/{}", "x".repeat(123));
        assert!(is_content_type(&longest));
        assert!(!is_content_type(&format!("{longest}x")));
    }
}
