//! Types of capabilities, and the category of each (CX-34, CX-43).

use crate::facts::Category;

/// The longest type, in bytes.
const TYPE_BYTES: usize = 128;

/// The first label of well-known types, by category.
const PREFIXES: [(&str, Category); 4] = [
    ("compute", Category::Compute),
    ("knowledge", Category::Knowledge),
    ("tool", Category::ToolAccess),
    ("authz", Category::Authorization),
];

/// The initial entries of the registry (CC-89).
pub const WELL_KNOWN: [&str; 8] = [
    "compute.inference",
    "compute.transform",
    "knowledge.domain",
    "knowledge.retrieval",
    "tool.api",
    "tool.execution",
    "authz.delegate",
    "authz.verify",
];

/// Whose a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of the registry, with its category.
    WellKnown(Category),
    /// Of an organisation, by its reversed domain.
    Custom,
}

/// What that type is; `None` of a text that is no type. So no custom type collides with one of the
/// registry, now or later: its prefixes are closed.
pub fn kind_of(name: &str) -> Option<Kind> {
    let first = name.split('.').next()?;
    let prefix = PREFIXES.iter().find(|(prefix, _)| *prefix == first);
    if let Some((_, category)) = prefix {
        let is_registered = WELL_KNOWN.contains(&name);
        return is_registered.then_some(Kind::WellKnown(*category));
    }
    let is_label = |label: &str| {
        let is_of_label =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(is_of_label)
    };
    let is_custom =
        name.len() <= TYPE_BYTES && name.split('.').count() >= 3 && name.split('.').all(is_label);
    is_custom.then_some(Kind::Custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cc_089_the_eight_types_and_their_categories() {
        let of = |name: &str| kind_of(name);
        for name in WELL_KNOWN {
            assert!(matches!(of(name), Some(Kind::WellKnown(_))), "{name}");
        }
        let table = [
            ("compute.inference", Category::Compute),
            ("knowledge.retrieval", Category::Knowledge),
            ("tool.api", Category::ToolAccess),
            ("authz.verify", Category::Authorization),
        ];
        for (name, category) in table {
            assert_eq!(of(name), Some(Kind::WellKnown(category)), "{name}");
        }
    }

    #[test]
    fn cc_090_and_cc_091_custom_types_stay_out_of_the_registry() {
        for custom in ["com.example.custom-capability", "org.a.b.c", "x-1.2.3"] {
            assert_eq!(kind_of(custom), Some(Kind::Custom), "{custom}");
        }
        for bad in [
            "",
            "com.example",
            "compute.inference2",
            "compute.inference.fast",
            "tool.com.example",
            "authz.x.y",
            "com..example",
            "com.Example.x",
            "com.exämple.x",
            ".com.example",
            "com.example.",
            "com.example.a b",
        ] {
            assert_eq!(kind_of(bad), None, "{bad}");
        }
        let long = format!("com.example.{}", "a".repeat(117));
        assert_eq!(kind_of(&long), None, "{} bytes", long.len());
        assert!(kind_of(&long[..128]).is_some());
    }
}
