//! The users of the double, and the rights that the metadata of a stream gives them.
//!
//! A double without users is a server with `--insecure`: everybody is an administrator. With users, a
//! call with a wrong password always fails, and one without a password may use no stream. There is no
//! call to delete a stream, so `$d` is not enforced.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use serde_json::Value;

use super::double::State;

/// The administrator's name; a user like any other until it has a password.
const ADMINISTRATOR: &str = "admin";

/// Who makes a call.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    Administrator,
    User(String),
    Anonymous,
}

/// Names of users, by their `authorization` header.
#[derive(Debug, Default)]
pub(super) struct Users(HashMap<String, String>);

impl Users {
    pub(super) fn add(&mut self, name: &str, password: &str) {
        let credentials = STANDARD.encode(format!("{name}:{password}"));
        self.0
            .insert(format!("Basic {credentials}"), name.to_owned());
    }

    /// Returns the caller, or `None` for an unknown name or a wrong password.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        if self.0.is_empty() {
            return Some(Caller::Administrator);
        }
        let Some(given) = headers.get(AUTHORIZATION) else {
            return Some(Caller::Anonymous);
        };
        let name = self.0.get(given.to_str().ok()?)?;
        Some(if name == ADMINISTRATOR {
            Caller::Administrator
        } else {
            Caller::User(name.clone())
        })
    }
}

impl State {
    pub(super) fn may_read(&self, caller: &Caller, stream: &str) -> bool {
        self.may(caller, stream, "$r", "$mr")
    }

    pub(super) fn may_write(&self, caller: &Caller, stream: &str) -> bool {
        self.may(caller, stream, "$w", "$mw")
    }

    /// Returns true if the caller has `right` on a stream, or `on_metadata` if it is the metadata
    /// of another one. A right that the metadata does not name belongs to all users.
    fn may(&self, caller: &Caller, stream: &str, right: &str, on_metadata: &str) -> bool {
        let user = match caller {
            Caller::Administrator => return true,
            Caller::Anonymous => return false,
            Caller::User(user) => user,
        };
        let (stream, right) = match stream.strip_prefix("$$") {
            Some(original) => (original, on_metadata),
            None => (stream, right),
        };
        let metadata = self.metadata(stream);
        let Some(roles) = metadata.get("$acl").and_then(|acl| acl.get(right)) else {
            return true;
        };
        let names_user = |role: &Value| role == "$all" || role == user;
        match roles.as_array() {
            Some(roles) => roles.iter().any(names_user),
            None => names_user(roles),
        }
    }
}
