//! The end of an audit: nothing follows, and what it says of what came.

use x811_eventlog::Hash;
use x811_protocol::event::LedgerOpened;

use super::Auditor;
use crate::extract::Extract;
use crate::finding::findings::Cause;
use crate::finding::unchecked::Unchecked;
use crate::money::listing::{Listed as Accounts, Listing, Period};
use crate::report::document::Report;
use crate::report::outcome::{Gap, Outcome, Undecided};
use crate::report::prefix::{self, AsOf, Tail};

impl Auditor {
    /// Nothing follows. `noted` is the hash that a head kept elsewhere names for the last record:
    /// when it differs, it was the last record that changed.
    pub fn close(&mut self, noted: Option<Hash>, said: Option<&LedgerOpened>) {
        let ledger = self.opened(said);
        if let Some(extract) = &self.extract {
            let world = self.replay.world();
            let (trusting, findings) = (&mut self.trusting, &mut self.findings);
            let covered = extract.close(ledger.as_ref(), world, trusting, findings);
            self.checkpoints.extend(covered);
        }
        let differs = noted.is_some_and(|noted| noted != self.last_hash);
        self.links.finish(differs, &mut self.findings);
        self.settle_rows();
        self.noted_is_no_longer();
        self.compare_agent_keys();
        if let Some(expected) = self.expected_head
            && self.expected_head_position.is_none()
        {
            if self.extract.is_some() {
                self.findings.leave(Unchecked::ExpectedHead, 1);
                return;
            }
            let sentence = format!(
                "no record has the hash {expected} that was expected: this is not the log it was \
                 noted from, or it was cut off before it"
            );
            let spot = self.end();
            self.findings
                .add(&spot, "head", Cause::HeadDiffers, sentence);
        }
    }

    /// The rows of what is live, and how many interactions are in which state.
    fn settle_rows(&mut self) {
        self.used.forget_nonces();
        self.rows.close(self.replay.world());
        self.states = self.rows.states(|id| self.knows(id));
    }

    /// The outcome. What cannot be known from the records alone (a tail that was cut off) shows
    /// only against a head from elsewhere: see [`Auditor::expecting`] and the sources.
    pub fn finish(mut self) -> Report {
        self.close(None, None);
        self.report(None)
    }

    /// The report, once everything was taken; `said` is the identity that the source names.
    pub fn report(mut self, said: Option<&LedgerOpened>) -> Report {
        let (records, last_at) = (self.size(), self.last_at());
        let unchecked = self.findings.take_unchecked();
        let trust = self.trusting.report(records, self.opened(said).as_ref());
        let claimed = self.extract.as_ref().and_then(Extract::claimed);
        let root = claimed.map_or_else(|| self.frontier.root(), |checkpoint| checkpoint.root);
        let ledger = self.identity().map(|ledger| ledger.did.to_string());
        let (head, expected_head_position) = (self.last_hash, self.expected_head_position);
        let checkpoints = std::mem::take(&mut self.checkpoints);
        let (findings, left_out) = std::mem::take(&mut self.findings).finish();
        let findings_left_out = left_out.values().sum();
        let mut findings_by_cause = left_out;
        for finding in &findings {
            *findings_by_cause.entry(finding.cause).or_default() += 1;
        }
        let period = self.accounts.as_ref().map(Accounts::period);
        let (noted_checkpoint, unproven) = (self.noted_held, self.unverifiable_checkpoints);
        let mut judged = self.judged();
        let as_of = judged.as_of();
        let tail = Tail::behind(as_of, records, last_at);
        let mut undecided = judged.undecided(as_of, tail);
        undecided.extend(unverifiable(unproven));
        let listing = period.map(|period| judged.listing(period));
        let extract = judged.extract.take();
        let kept = judged.evidence.map(|kept| kept.finish(extract.is_some()));
        let (evidence, sightings) = kept.unwrap_or_default();
        let (paid, payments, payments_left_out) = judged.payments.finish();
        let (interactions, interactions_unknown) = judged.states;
        let mut report = Report {
            verdict: Outcome::Clean,
            as_of,
            tail,
            undecided,
            ledger,
            records,
            envelopes: judged.envelopes,
            signatures_valid: judged.signatures_valid,
            facts: judged.facts,
            absent_bodies: judged.erased.report(),
            wallets: judged.wallets,
            agent_keys: judged.agent_keys.report(),
            erasures: judged.erasures,
            state_roots: judged.state_roots,
            not_replayed: judged.replay.not_replayed(),
            not_re_decided: judged.not_re_decided,
            observations: judged.observations,
            interactions,
            interactions_unknown,
            notices_owed: judged.replay.world().owed().count() as u64,
            downtimes: judged.downtimes,
            paid,
            payments,
            payments_left_out,
            listing,
            rules: judged.parameters.rules,
            parameters: judged.parameters.list,
            parameters_left_out_at: judged.parameters.left_out,
            parameters_in_force: judged.parameters.in_force,
            late_lapses: judged.late_lapses.list,
            late_lapses_left_out: judged.late_lapses.left_out,
            remarks: judged.remarks.list,
            remarks_left_out: judged.remarks.left_out,
            attested: judged.remarks.attested,
            transfers: judged.transfers,
            evidence,
            draws: judged.draws,
            sightings,
            head,
            root,
            checkpoints,
            trust,
            extract: extract.map(|extract| extract.report(records, unchecked)),
            expected_head_position,
            noted_checkpoint,
            read_model: None,
            findings,
            findings_left_out,
            findings_by_cause,
        };
        report.judge();
        report
    }

    /// The audit of what is judged: nothing, where no checkpoint holds.
    fn judged(mut self) -> Auditor {
        if self.is_judged_whole() {
            return self;
        }
        let Some(mut prefix) = self.take_prefix() else {
            return Auditor::new();
        };
        prefix.settle_rows();
        prefix
    }

    /// What is judged, listed; nothing of it where no checkpoint holds.
    fn listing(&mut self, period: Period) -> Listing {
        let accounts = self.accounts.take();
        let accounts = accounts.unwrap_or_else(|| Accounts::of(period));
        accounts.finish(&self.rows, |id| self.knows(id))
    }

    /// What should be decidable of what is judged, and is not.
    fn undecided(&self, as_of: Option<AsOf>, tail: Option<Tail>) -> Vec<Undecided> {
        let mut undecided: Vec<Undecided> = prefix::undecided(as_of, tail).into_iter().collect();
        if !self.knows_rules() {
            let sentence = format!(
                "this version does not know the decision rules in force at the end: {} records behind \
                 them were not decided, and nothing of them is totalled; audit with a newer version",
                self.not_re_decided
            );
            let count = self.not_re_decided.max(1);
            undecided.extend(Undecided::of(Gap::UnknownRules, count, sentence));
        }
        let missing = self.erased.missing();
        let sentence = format!(
            "{missing} bodies are not here, though no record erased them: they were left out or lost; \
             ask for a copy that has them"
        );
        undecided.extend(Undecided::of(Gap::MissingBodies, missing, sentence));
        undecided.extend(self.stories.undecided());
        undecided.extend(self.overdue());
        undecided
    }
}

/// The gap that checkpoints by unknown keys leave; `None` without one.
fn unverifiable(checkpoints: u64) -> Option<Undecided> {
    let sentence = format!(
        "checkpoints that cannot be verified: {checkpoints}; the ledger's keys changed under decision rules \
         that this version does not know: audit with a newer version"
    );
    Undecided::of(Gap::UnknownRules, checkpoints, sentence)
}
