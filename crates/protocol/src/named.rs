//! Enums whose variants have no data and a text each.

/// An enum with one text for each variant, which stands beside it: `ALL`, `as_str` and `Display` follow.
/// Attributes are those of the enum and of its variants; what every such enum derives needs none.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $text:expr,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// All of them, in their order.
            $visibility const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The text of it.
            #[must_use]
            $visibility const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}
