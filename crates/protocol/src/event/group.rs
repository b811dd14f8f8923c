//! How a group of events is declared: once, with the `type` that each has in a record.

/// Declares a group: its enum, which is read and written by the member `type`, and `type_name`.
macro_rules! event_group {
    (
        $(#[$about:meta])*
        $group:ident { $($(#[$doc:meta])* $name:literal => $variant:ident($payload:ty),)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "type")]
        pub enum $group {
            $($(#[$doc])* #[serde(rename = $name)] $variant($payload),)+
        }

        impl $group {
            /// The `type` of each event of the group.
            pub const TYPES: &[&str] = &[$($name),+];

            /// The `type` member.
            pub const fn type_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }
        }
    };
}

pub(super) use event_group;
