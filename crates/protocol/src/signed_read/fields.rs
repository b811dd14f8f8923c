//! The two header fields as structured fields (RFC 9651), with nothing thrown away: of a repeated
//! parameter the standard keeps the last one, and what a signature covers must not be a matter of
//! who reads it.

use std::convert::Infallible;

use sfv::visitor::{
    DictionaryVisitor, EntryVisitor, InnerListVisitor, ItemVisitor, ParameterVisitor,
};
use sfv::{BareItemFromInput, KeyRef, Parser};

/// A member of a dictionary as it was written.
#[derive(Debug)]
pub(super) struct Member<'de> {
    /// The signature's label.
    pub(super) key: &'de KeyRef,
    /// What the label stands for.
    pub(super) value: Value<'de>,
    /// Its parameters in their order, repeated ones too.
    pub(super) parameters: Vec<(&'de KeyRef, BareItemFromInput<'de>)>,
}

/// The value of a member.
#[derive(Debug)]
pub(super) enum Value<'de> {
    Item(BareItemFromInput<'de>),
    /// Values in parentheses.
    List(Vec<Element<'de>>),
}

/// A value in parentheses.
#[derive(Debug)]
pub(super) struct Element<'de> {
    pub(super) value: BareItemFromInput<'de>,
    /// Whether parameters follow it.
    pub(super) has_parameters: bool,
}

/// Every member of a dictionary, repeated ones too; `None` when it is no dictionary.
pub(super) fn members(field: &[u8]) -> Option<Vec<Member<'_>>> {
    let members = Parser::new(field).parse_dictionary_with_visitor(Members(Vec::new()));
    members.ok()
}

struct Members<'de>(Vec<Member<'de>>);

impl<'de> DictionaryVisitor<'de> for Members<'de> {
    type Out = Vec<Member<'de>>;
    type Error = Infallible;

    fn entry(&mut self, key: &'de KeyRef) -> Result<impl EntryVisitor<'de>, Infallible> {
        let value = Value::List(Vec::new());
        let parameters = Vec::new();
        Ok(self.0.push_mut(Member {
            key,
            value,
            parameters,
        }))
    }

    fn finish(self) -> Result<Vec<Member<'de>>, Infallible> {
        Ok(self.0)
    }
}

impl<'de> EntryVisitor<'de> for &mut Member<'de> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        Ok(self)
    }
}

impl<'de> ItemVisitor<'de> for &mut Member<'de> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        value: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        self.value = Value::Item(value);
        Ok(self)
    }
}

impl<'de> InnerListVisitor<'de> for &mut Member<'de> {
    type Error = Infallible;

    fn item(&mut self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(ElementOf(self))
    }

    fn finish(self) -> Result<impl ParameterVisitor<'de>, Infallible> {
        Ok(self)
    }
}

impl<'de> ParameterVisitor<'de> for &mut Member<'de> {
    type Out = ();
    type Error = Infallible;

    fn parameter(
        &mut self,
        name: &'de KeyRef,
        value: BareItemFromInput<'de>,
    ) -> Result<(), Infallible> {
        self.parameters.push((name, value));
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The next value of a member's list.
struct ElementOf<'a, 'de>(&'a mut Member<'de>);

impl<'de> ItemVisitor<'de> for ElementOf<'_, 'de> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        value: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        if let Value::List(elements) = &mut self.0.value {
            elements.push(Element {
                value,
                has_parameters: false,
            });
        }
        Ok(self)
    }
}

impl<'de> ParameterVisitor<'de> for ElementOf<'_, 'de> {
    type Out = ();
    type Error = Infallible;

    fn parameter(&mut self, _: &'de KeyRef, _: BareItemFromInput<'de>) -> Result<(), Infallible> {
        if let Value::List(elements) = &mut self.0.value
            && let Some(last) = elements.last_mut()
        {
            last.has_parameters = true;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}
