//! The keys statement of a bundle, against the rotations that are here.

use x811_protocol::event::LedgerOpened;

use super::Extract;
use crate::export::KeysLine;
use crate::finding::findings::{Cause, Findings};
use x811_world::World;
use x811_world::keys_statement::SignedKeys;

impl Extract {
    /// Takes the keys statement; who signed it is asked in the end.
    pub(crate) fn state_keys(&mut self, line: KeysLine, findings: &mut Findings) {
        if let Some(first) = &self.keys {
            let sentence = format!("line {} has a keys statement already", first.line);
            let spot = self.end(Some(line.line));
            findings.add(&spot, "keys", Cause::Duplicated, sentence);
            return;
        }
        self.keys = Some(line);
    }

    /// The statement is by the checkpoint key in force, of this checkpoint, and lists the rotations
    /// that are here and no others (ledger-contract.md section 8).
    pub(super) fn check_keys(
        &self,
        ledger: Option<&LedgerOpened>,
        world: &World,
        findings: &mut Findings,
    ) {
        let Some(line) = &self.keys else {
            if self.subject.is_some() {
                let sentence = "the bundle has no keys statement: whether a rotation of the \
                                ledger's keys was left out is not shown";
                let spot = self.end(None);
                findings.add(&spot, "keys", Cause::Missing, sentence);
            }
            return;
        };
        if let Some((field, sentence)) = self.misfit(&line.signed, ledger, world) {
            let spot = self.end(Some(line.line));
            findings.add(&spot, field, Cause::KeysDiffer, sentence);
        }
    }

    /// The first thing in which a statement is not this bundle's.
    fn misfit(
        &self,
        signed: &SignedKeys,
        ledger: Option<&LedgerOpened>,
        world: &World,
    ) -> Option<(&'static str, &'static str)> {
        let statement = &signed.statement;
        if !signed.is_its_own() {
            let sentence = "the keys statement is not signed by the checkpoint key that it names, \
                            or its rotations do not lead to the keys that it names";
            return Some(("keys.signature", sentence));
        }
        if self.claimed().is_some_and(|it| !statement.is_of(it)) {
            let sentence = "the keys statement is of another checkpoint than the bundle";
            return Some(("keys.root", sentence));
        }
        let ledger = ledger?;
        if (statement.log_id, &statement.origin) != (ledger.log_id, &ledger.origin) {
            let sentence = "the keys statement is of another log than position 0";
            return Some(("keys.log_id", sentence));
        }
        let rotations = world.keyring()?.rotations(statement.size);
        if statement.rotations != rotations {
            let sentence = "the keys statement lists other rotations of the ledger's keys than are \
                            here: one was left out, or put in";
            return Some(("keys.rotations", sentence));
        }
        if statement.keys != ledger.keys {
            let sentence = "the keys statement names other keys than those in force here";
            return Some(("keys.keys", sentence));
        }
        None
    }
}
