//! What the exit code says: the one table, printed by `x811 --help` too.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok,
    /// The ledger, or a check before sending, said no.
    Refused,
    /// The command line makes no sense.
    Usage,
    /// No answer from the ledger or the RPC endpoint.
    Unreachable,
    /// A file or key on this computer.
    Local,
    /// An answer that cannot be believed or understood.
    Untrusted,
    /// `provider paid`: it may still come.
    NotYetPaid,
    /// `provider paid`: it will not come.
    NotPaid,
    /// `status`: it takes no messages.
    NotReady,
    /// `agent status`: a person has to look.
    Alarm,
    /// `audit`, `doctor`, every `verify` and `anvil storm`: something contradicts.
    Findings,
    /// `audit`, and `verify` of a receipt, a trace or a negotiation: nobody said which keys are trusted.
    Unverified,
    /// `audit` and `receipt verify`: nothing contradicts, but something that should be decidable is not.
    Incomplete,
    /// Ended by Ctrl-C.
    Interrupted,
}

impl Exit {
    /// Every code and its meaning.
    const TABLE: [(Exit, u8, &str); 14] = [
        (
            Exit::Ok,
            0,
            "done; for `provider paid`: paid, for `audit`: clean, and whose log it is proven",
        ),
        (
            Exit::Refused,
            1,
            "refused, by the ledger or by a check before sending",
        ),
        (Exit::Usage, 2, "the command line makes no sense"),
        (
            Exit::Unreachable,
            3,
            "the ledger or the RPC endpoint does not answer",
        ),
        (
            Exit::Local,
            4,
            "a file or key on this computer cannot be used",
        ),
        (
            Exit::Untrusted,
            5,
            "an answer cannot be believed or understood",
        ),
        (Exit::NotYetPaid, 10, "`provider paid`: not yet"),
        (Exit::NotPaid, 11, "`provider paid`: no"),
        (Exit::NotReady, 12, "`status`: the ledger takes no messages"),
        (
            Exit::Alarm,
            13,
            "`agent status`: there is an alarm that nobody saw",
        ),
        (
            Exit::Findings,
            20,
            "`audit`, `doctor`, every `verify`, `anvil storm`: broken, something contradicts",
        ),
        (
            Exit::Unverified,
            21,
            "`audit` and `verify` of a receipt, a trace or a negotiation: nothing is wrong, but whose it is was not \
             checked, for want of --key, --policy or --keys, or of `receipt refresh`",
        ),
        (
            Exit::Incomplete,
            22,
            "`audit`, `receipt verify`: incomplete, something is not decided that should be",
        ),
        (Exit::Interrupted, 130, "ended by Ctrl-C"),
    ];

    /// The number of the exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        let mut table = Exit::TABLE.into_iter();
        table.find(|row| row.0 == self).map_or(u8::MAX, |row| row.1)
    }

    /// The table for people.
    #[must_use]
    pub fn help() -> String {
        let rows = Exit::TABLE.map(|(_, code, meaning)| format!("  {code:>3}  {meaning}\n"));
        format!(
            "Exit codes:\n{}\nWith --json there is one JSON value on standard output, also when \
             something fails:\n  {{\"error\": {{\"code\", \"message\", \"what_to_do\", \"exit\", \
             \"details\"?}}}}",
            rows.concat()
        )
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_has_its_own_code_and_is_in_the_help() {
        let all = [
            (Exit::Ok, 0),
            (Exit::Refused, 1),
            (Exit::Usage, 2),
            (Exit::Unreachable, 3),
            (Exit::Local, 4),
            (Exit::Untrusted, 5),
            (Exit::NotYetPaid, 10),
            (Exit::NotPaid, 11),
            (Exit::NotReady, 12),
            (Exit::Alarm, 13),
            (Exit::Findings, 20),
            (Exit::Unverified, 21),
            (Exit::Incomplete, 22),
            (Exit::Interrupted, 130),
        ];
        let help = Exit::help();
        for (exit, code) in all {
            assert_eq!(exit.code(), code);
            assert!(help.contains(&format!("\n  {code:>3}  ")), "{help}");
        }
    }
}
