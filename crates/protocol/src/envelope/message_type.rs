//! What a message is: one of the eight core types, or a namespaced one (AE-38, AE-123).

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

named! {
    /// The eight message types of the specification (AE-38).
    pub enum CoreType {
        /// The initiator asks for an offer.
        Request = "x811/request",
        /// The provider's binding price.
        Offer = "x811/offer",
        /// The initiator takes the offer.
        Accept = "x811/accept",
        /// The initiator turns the offer down.
        Reject = "x811/reject",
        /// The provider delivers.
        Result = "x811/result",
        /// The initiator judges what was delivered.
        Verify = "x811/verify",
        /// The initiator names the transfer that pays.
        Payment = "x811/payment",
        /// A party or the ledger reports a fault.
        Error = "x811/error",
    }
}

/// A type of someone's own, `x811.<namespace>/<name>` (AE-123, AX-39): at most 128 characters of
/// `[a-z0-9.-]`, no empty label in the namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomType(String);

impl CustomType {
    /// The longest text form, in bytes (record.md section 1).
    pub const MAX_LEN: usize = 128;

    /// The whole text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part between `x811.` and the slash.
    pub fn namespace(&self) -> &str {
        self.parts().0
    }

    /// The part behind the slash.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        split_custom(&self.0).unwrap_or_default()
    }
}

impl FromStr for CustomType {
    type Err = MessageTypeError;

    fn from_str(text: &str) -> Result<CustomType, MessageTypeError> {
        let is_label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        };
        let (namespace, name) = split_custom(text).ok_or(MessageTypeError)?;
        let well_formed = text.len() <= CustomType::MAX_LEN
            && namespace.split('.').all(is_label)
            && name.split('.').all(is_label);
        if well_formed {
            Ok(CustomType(text.to_owned()))
        } else {
            Err(MessageTypeError)
        }
    }
}

fn split_custom(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("x811.")?.split_once('/')
}

/// The `type` of an envelope.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub enum MessageType {
    /// One of the specification's.
    Core(CoreType),
    /// Someone's own: routed or handled by its namespace, never a change of an interaction's state.
    Custom(CustomType),
}

impl MessageType {
    /// The text form.
    pub fn as_str(&self) -> &str {
        match self {
            MessageType::Core(core) => core.as_str(),
            MessageType::Custom(custom) => custom.as_str(),
        }
    }
}

impl From<CoreType> for MessageType {
    fn from(core: CoreType) -> MessageType {
        MessageType::Core(core)
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MessageType {
    type Err = MessageTypeError;

    fn from_str(text: &str) -> Result<MessageType, MessageTypeError> {
        match CoreType::ALL.into_iter().find(|core| core.as_str() == text) {
            Some(core) => Ok(MessageType::Core(core)),
            None => text.parse().map(MessageType::Custom),
        }
    }
}

/// The text is no message type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a message type: use one of the eight x811/… types or your own x811.<namespace>/<name> \
     of lower-case letters, digits, dots and hyphens, at most 128 characters"
)]
pub struct MessageTypeError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_038_the_eight_core_types_read_back() {
        let texts: Vec<_> = CoreType::ALL.iter().map(|core| core.as_str()).collect();
        let names = [
            "request", "offer", "accept", "reject", "result", "verify", "payment", "error",
        ];
        assert_eq!(texts, names.map(|name| format!("x811/{name}")));
        for core in CoreType::ALL {
            assert_eq!(core.to_string().parse(), Ok(MessageType::Core(core)));
            let json = serde_json::to_string(&MessageType::from(core)).unwrap();
            assert_eq!(json, format!("\"{core}\""));
        }
    }

    #[test]
    fn ae_122_and_ae_123_and_ax_039_custom_types_are_namespaced() {
        let longest = format!("x811.ext/{}", "a".repeat(128 - 9));
        for good in [
            "x811.ext/counter-offer",
            "x811.a.b-1/c.d",
            "x811.0/0",
            &longest,
        ] {
            let message_type: MessageType = good.parse().unwrap();
            assert_eq!(message_type, MessageType::Custom(good.parse().unwrap()));
            assert_eq!(message_type.to_string(), good);
            assert_eq!(
                serde_json::to_value(&message_type).unwrap(),
                serde_json::json!(good)
            );
        }
        let custom: CustomType = "x811.registry/key.rotate".parse().unwrap();
        assert_eq!(
            (custom.namespace(), custom.name()),
            ("registry", "key.rotate")
        );
    }

    #[test]
    fn ax_039_every_other_type_is_refused() {
        let too_long = format!("x811.ext/{}", "a".repeat(128 - 8));
        for bad in [
            "",
            "x811/",
            "x811/cancel",
            "x811/heartbeat",
            "x811/payment-failed",
            "x811/Request",
            "x811/request ",
            "x811./name",
            "x811.ext/",
            "x811.ext",
            "x811.ext/a/b",
            "x811..ext/a",
            "x811.ext./a",
            "x811.Ext/a",
            "x811.ext/a_b",
            "x811.ext/é",
            "x812.ext/a",
            &too_long,
        ] {
            assert_eq!(bad.parse::<MessageType>(), Err(MessageTypeError), "{bad}");
            assert!(
                serde_json::from_value::<MessageType>(bad.into()).is_err(),
                "{bad}"
            );
        }
    }
}
