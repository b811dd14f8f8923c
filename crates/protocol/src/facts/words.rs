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
        named! {
            $(#[$doc])*
            #[derive(Serialize, Deserialize)]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            pub enum $name {
                $($(#[$variant_doc])* #[serde(rename = $text)] $variant = $text,)+
            }
        }

        impl ::std::str::FromStr for $name {
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
        named! {
            $(#[$doc])*
            pub enum $name {
                $($(#[$variant_doc])* $variant = concat!("x811.", $namespace, "/", $text),)+
            }
        }

        impl $name {
            /// The `typ` of a signature inside its payload (machines.md section 7).
            pub const fn jws_type(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("x811-", $text, "+jws"),)+
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
    };
}

/// The facts of a machine's messages: one variant for each of its verbs, of the same name.
macro_rules! facts_of_verbs {
    ($(#[$doc:meta])* $name:ident of $verb:ident {
        $($variant:ident($facts:ty),)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum $name {
            $(
                #[doc = concat!("Of [`", stringify!($verb), "::", stringify!($variant), "`].")]
                $variant($facts),
            )+
        }

        impl $name {
            pub(super) fn from_value(verb: $verb, value: Value) -> Result<$name, serde_json::Error> {
                match verb {
                    $($verb::$variant => serde_json::from_value(value).map($name::$variant),)+
                }
            }

            /// Which message they are of.
            pub const fn verb(&self) -> $verb {
                match self {
                    $($name::$variant(_) => $verb::$variant,)+
                }
            }
        }
    };
}
