//! What nobody finds yet.

/// Event, member, and why a lie about it is not found. A member that is found now has to leave.
pub(crate) const OPEN_MEMBERS: &[(&str, &str, &str)] = &[];
