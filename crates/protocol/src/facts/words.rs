//! Enums of the wire: one text for each variant, read back exactly.

/// A text that is none of the words allowed in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one of {0}")]
pub struct UnknownWord(pub(super) &'static str);

/// An enum of the wire: one text per variant, read back exactly.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $all:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every word, in the specification's order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The text on the wire and in records.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(UnknownWord($all)),
                }
            }
        }
    };
}

/// The messages of a machine: one type of envelope per variant, read back exactly.
macro_rules! verbs {
    ($(#[$doc:meta])* $name:ident, $namespace:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// All of them, in the specification's order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The envelope's `type`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("x811.", $namespace, "/", $text),)+
                }
            }

            /// The verb of that message type, if it is one of these.
            pub fn of(message_type: &$crate::envelope::MessageType) -> Option<Self> {
                let $crate::envelope::MessageType::Custom(custom) = message_type else {
                    return None;
                };
                if custom.namespace() != $namespace {
                    return None;
                }
                let mut verbs = Self::ALL.into_iter();
                verbs.find(|verb| verb.as_str() == custom.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}
