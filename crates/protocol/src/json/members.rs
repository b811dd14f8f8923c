//! Members of an object: while they are read, and of an outermost object as they were.
//!
//! Most of an envelope's members are short texts that are read once and turned into something else. Of
//! the outermost object they therefore stay where they are, and no map is made of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Room that is made for the members of an object at once.
const ROOM: usize = 12;

/// A value of an outermost object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Member<'a> {
    /// A string, where it was read if it has no escapes.
    Text(Cow<'a, str>),
    Other(Value),
}

/// The members of an outermost object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Members<'a> {
    /// In the order of their names, each once.
    in_order: Vec<(Cow<'a, str>, Member<'a>)>,
}

impl<'a> Members<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&Member<'a>> {
        let place = self.place(name)?;
        self.in_order.get(place).map(|(_, member)| member)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Member<'a>> {
        let place = self.place(name)?;
        Some(self.in_order.remove(place).1)
    }

    pub(crate) fn len(&self) -> usize {
        self.in_order.len()
    }

    /// As values of their own; what is no text is moved, for it may be large.
    pub(crate) fn into_map(self) -> Map<String, Value> {
        let value = |member| match member {
            Member::Text(text) => Value::String(text.into_owned()),
            Member::Other(value) => value,
        };
        let members = self.in_order.into_iter();
        members
            .map(|(name, member)| (name.into_owned(), value(member)))
            .collect()
    }

    fn place(&self, name: &str) -> Option<usize> {
        let found = self.in_order.binary_search_by(|(key, _)| (**key).cmp(name));
        found.ok()
    }
}

impl<'a> From<Vec<(Cow<'a, str>, Member<'a>)>> for Members<'a> {
    /// Of members in order.
    fn from(in_order: Vec<(Cow<'a, str>, Member<'a>)>) -> Members<'a> {
        Members { in_order }
    }
}

impl From<Map<String, Value>> for Members<'_> {
    fn from(map: Map<String, Value>) -> Self {
        let member = |value| {
            if let Value::String(text) = value {
                Member::Text(Cow::Owned(text))
            } else {
                Member::Other(value)
            }
        };
        let members = map.into_iter();
        let in_order = members.map(|(name, value)| (Cow::Owned(name), member(value)));
        Members {
            in_order: in_order.collect(),
        }
    }
}

/// Members as they are read: a list while they come in order, for that is quicker than a map.
pub(super) struct Gathered<'a, V> {
    in_order: Vec<(Cow<'a, str>, V)>,
    /// All of them, once one was out of order.
    scattered: Option<BTreeMap<Cow<'a, str>, V>>,
}

impl<V> Default for Gathered<'_, V> {
    fn default() -> Self {
        Gathered {
            in_order: Vec::new(),
            scattered: None,
        }
    }
}

impl<'a, V> Gathered<'a, V> {
    /// Whether all of them come before `key`, as far as that shows.
    pub(super) fn are_before(&self, key: &str) -> bool {
        let last = self.in_order.last();
        self.scattered.is_none() && last.is_none_or(|(last, _)| **last < *key)
    }

    /// Adds one; `false` when there is one of that name.
    pub(super) fn add(&mut self, key: Cow<'a, str>, value: V) -> bool {
        if self.are_before(&key) {
            if self.in_order.is_empty() {
                self.in_order.reserve(ROOM);
            }
            self.in_order.push((key, value));
            return true;
        }
        let in_order = &mut self.in_order;
        let all = self
            .scattered
            .get_or_insert_with(|| in_order.drain(..).collect());
        all.insert(key, value).is_none()
    }

    pub(super) fn in_order(self) -> Vec<(Cow<'a, str>, V)> {
        match self.scattered {
            Some(all) => all.into_iter().collect(),
            None => self.in_order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_are_found_in_whatever_order_they_were_read() {
        let values = json!({"b": 1, "a": "one", "c": null, "": {"x": []}});
        let map = values.as_object().unwrap();
        let mut gathered = Gathered::default();
        for name in ["b", "a", "c", ""] {
            let value = &map[name];
            let text = value.as_str().map(|text| Member::Text(text.into()));
            let member = text.unwrap_or_else(|| Member::Other(value.clone()));
            assert!(gathered.add(Cow::Borrowed(name), member));
        }
        assert!(!gathered.add(Cow::Borrowed("a"), Member::Other(Value::Null)));
        let mut members = Members::from(map.clone());
        assert_eq!(members.clone().into_map(), *map);
        assert_eq!(members.len(), 4);
        assert_eq!(members.get("a"), Some(&Member::Text("one".into())));
        assert_eq!(members.get("d"), None);
        assert_eq!(members.remove("c"), Some(Member::Other(Value::Null)));
        assert_eq!(members.remove("c"), None);
        let names: Vec<_> = gathered
            .in_order()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["", "a", "b", "c"]);
    }
}
