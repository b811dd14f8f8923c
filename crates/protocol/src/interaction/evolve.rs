//! What a record makes of an interaction. A stored log is input: whatever `decide` could not have
//! written is [`Illegal`], never a panic and never skipped.

use super::message::offer_deadline;
use super::settlement::FAILURES_TO_DISPUTE;
use super::table;
use super::{
    Acceptance, Closing, Deal, Delivery, Dispute, Offer, Opening, RecordRef, Schedule, Settlement,
    Stage, State, StateName, Unpaid, WrittenOnce,
};
use crate::code::Code;
use crate::event::{
    Confirmed, EnvelopeAccepted, Event, Lapsed, LapsedWindow, Looked, Refuted, Seen,
    SettlementEvent,
};
use crate::evm::TxHash;
use crate::facts::{Facts, OfferFacts, PaymentFacts, RequestFacts};
use crate::id::InteractionId;
use crate::machine::{Illegal, Recorded};
use crate::settlement::{
    Aftermath, Bound, Completion, Declared, DeclaredStanding, PaidTransfer, evolve_bound,
    unless_over,
};
use crate::time::TimestampMs;
use std::sync::Arc;

/// The state after `recorded`.
#[expect(clippy::wildcard_enum_match_arm, reason = "the one refusing wildcard")]
pub(super) fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
    let step = Step {
        name: state.as_ref().map(State::name),
        recorded,
    };
    match (state, recorded.event) {
        (None, Event::EnvelopeAccepted(accepted)) => step.open(accepted),
        (None, _) => Err(step.illegal("the first event must be an accepted REQUEST")),
        (Some(state), Event::EnvelopeAccepted(accepted)) => step.message(state, accepted),
        (Some(state), Event::Lapsed(lapsed)) => step.lapsed(state, *lapsed),
        (Some(state), Event::NoticeIssued(_)) => Ok(state),
        (Some(state), event) if state.name().is_terminal() => step.afterwards(state, event),
        (Some(state), event) => {
            let watched = step.watched(state)?;
            match event {
                Event::Settlement(SettlementEvent::Seen(seen)) => step.seen(watched, seen),
                Event::Settlement(SettlementEvent::Unseen(unseen)) => {
                    step.unseen(watched, unseen.tx_hash)
                }
                Event::Settlement(SettlementEvent::Refuted(refuted)) => {
                    step.refuted(watched, refuted)
                }
                Event::Settlement(SettlementEvent::Looked(looked)) => step.looked(watched, looked),
                Event::Settlement(SettlementEvent::Confirmed(confirmed)) => {
                    step.confirmed(watched, confirmed)
                }
                _ => Err(step.illegal("the event does not belong to an interaction's stream")),
            }
        }
    }
}

/// A `verified` interaction with a payment being watched, taken apart.
struct Watched {
    deal: Arc<Deal>,
    delivery: Delivery,
    verification: RecordRef,
    settlement: Settlement,
}

impl Watched {
    fn verified(self) -> State {
        State::Verified {
            deal: self.deal,
            delivery: self.delivery,
            verification: self.verification,
            settlement: Stage::Watching(self.settlement),
        }
    }

    /// Disputed once the counter is full, else still `verified`.
    fn unless_disputed(self, at: TimestampMs) -> State {
        if self.settlement.failures < FAILURES_TO_DISPUTE {
            return self.verified();
        }
        let code = self
            .settlement
            .last_failure
            .unwrap_or(Code::PaymentConfirmationTimeout);
        let unpaid = Unpaid {
            deal: self.deal.clone(),
            aftermath: self.aftermath(Vec::new(), at),
        };
        let state = self.verified();
        State::Disputed(Dispute {
            closing: closing(&state, Some(code)),
            unpaid: Some(Box::new(unpaid)),
        })
    }

    /// What stays watched once the interaction is over at `at`.
    fn aftermath(&self, paid: Vec<PaidTransfer>, at: TimestampMs) -> Aftermath {
        let network = &self.settlement.network;
        let parameters = &self.deal.opening.parameters;
        let late_ms = parameters
            .network(network)
            .map_or(0, |network| network.late_ms);
        Aftermath {
            network: network.clone(),
            declared: self.settlement.declared.clone(),
            paid,
            late: Vec::new(),
            late_watch: None,
            until: at.saturating_add_ms(late_ms),
            paused_since: self.settlement.paused_since,
        }
    }
}

struct Step<'a> {
    name: Option<StateName>,
    recorded: &'a Recorded<'a>,
}

impl Step<'_> {
    fn illegal(&self, why: &'static str) -> Illegal {
        let state = self.name.map_or("none", StateName::as_str);
        self.recorded.illegal(state, why)
    }

    fn deadline(&self, accepted: &EnvelopeAccepted) -> Result<TimestampMs, Illegal> {
        accepted
            .derived
            .deadline_at_ms
            .ok_or_else(|| self.illegal("a message that opens a window carries its deadline"))
    }

    fn open(&self, accepted: &EnvelopeAccepted) -> Result<State, Illegal> {
        let Facts::Request(RequestFacts {
            agreement_id,
            max_budget,
            negotiation_id,
            ..
        }) = &accepted.facts
        else {
            return Err(self.illegal("the first event must be an accepted REQUEST"));
        };
        let parameters = self
            .recorded
            .parameters
            .ok_or_else(|| self.illegal("the parameters it was opened under are not known"))?;
        let contract = accepted.derived.contract;
        if contract.map(|contract| contract.id) != *negotiation_id {
            return Err(self.illegal("it was not held to the contract it names"));
        }
        if accepted.derived.agreement.map(|agreement| agreement.id) != *agreement_id {
            return Err(self.illegal("it was not held to the agreement it names"));
        }
        Ok(State::Pending {
            deadline: self.deadline(accepted)?,
            opening: Opening {
                agreement: accepted.derived.agreement,
                contract,
                id: InteractionId::from(accepted.envelope.id),
                initiator: accepted.envelope.from,
                provider: accepted.envelope.to,
                max_budget: *max_budget,
                parameters: parameters.clone(),
                record: self.recorded.record_ref(accepted),
            },
        })
    }

    fn message(&self, state: State, accepted: &EnvelopeAccepted) -> Result<State, Illegal> {
        let record = self.recorded.record_ref(accepted);
        match (state, &accepted.facts) {
            (state, Facts::Error(_)) if !state.name().is_terminal() => Ok(state),
            (State::Pending { opening, .. }, Facts::Offer(offer)) => {
                self.offered(opening, offer, accepted)
            }
            (State::Offered { opening, offer, .. }, Facts::Accept(_)) => Ok(State::Accepted {
                deadline: self.deadline(accepted)?,
                deal: Arc::new(Deal {
                    opening,
                    offer,
                    acceptance: Acceptance {
                        at: self.recorded.recorded_at_ms,
                        heads: accepted.derived.heads.clone().unwrap_or_default(),
                        record,
                    },
                    written: WrittenOnce::default(),
                }),
            }),
            (state @ State::Offered { .. }, Facts::Reject(_)) => {
                Ok(State::Rejected(closing(&state, None)))
            }
            (State::Accepted { deal, .. }, Facts::Result(result)) => Ok(State::Delivered {
                deal,
                delivery: Delivery {
                    result_hash: result.result_hash,
                    record,
                },
                deadline: self.deadline(accepted)?,
            }),
            (State::Delivered { deal, delivery, .. }, Facts::Verify(verify)) if verify.verified => {
                Ok(State::Verified {
                    deal,
                    delivery,
                    verification: record,
                    settlement: Stage::Awaiting {
                        deadline: self.deadline(accepted)?,
                    },
                })
            }
            (state @ State::Delivered { .. }, Facts::Verify(_)) => Ok(State::Disputed(Dispute {
                closing: closing(&state, None),
                unpaid: None,
            })),
            (
                State::Verified {
                    deal,
                    delivery,
                    verification,
                    settlement,
                },
                Facts::Payment(payment),
            ) => {
                let settlement = self.paid(settlement, payment, record, accepted)?;
                Ok(Watched {
                    deal,
                    delivery,
                    verification,
                    settlement,
                }
                .verified())
            }
            (_, _) => Err(self.illegal("the state does not take this message")),
        }
    }

    fn offered(
        &self,
        opening: Opening,
        offer: &OfferFacts,
        accepted: &EnvelopeAccepted,
    ) -> Result<State, Illegal> {
        let deadline = offer_deadline(
            offer.expiry_s,
            accepted.envelope.created_ms,
            self.recorded.recorded_at_ms,
            &opening.parameters,
        );
        if self.deadline(accepted)? != deadline.effective() {
            return Err(self.illegal("its deadline is not the earliest of the three of AX-5"));
        }
        let payee = accepted.derived.payee;
        let payee = payee.ok_or_else(|| self.illegal("an OFFER fixes whom to pay"))?;
        Ok(State::Offered {
            opening,
            deadline,
            offer: Offer {
                offer_hash: offer.payload_hash,
                price: offer.price,
                protocol_fee: offer.protocol_fee,
                total: offer.total_cost,
                payee,
                record: self.recorded.record_ref(accepted),
            },
        })
    }

    fn paid(
        &self,
        stage: Stage,
        payment: &PaymentFacts,
        record: RecordRef,
        accepted: &EnvelopeAccepted,
    ) -> Result<Settlement, Illegal> {
        let mut settlement = match stage {
            Stage::Awaiting { .. } => Settlement {
                network: payment.network.clone(),
                started_at: self.recorded.recorded_at_ms,
                payments: Vec::new(),
                declared: Vec::new(),
                schedule: Schedule::Confirmation {
                    deadline: self.deadline(accepted)?,
                },
                paused_since: None,
                failures: 0,
                last_failure: None,
            },
            Stage::Watching(settlement) => settlement,
        };
        let binding = accepted.derived.payer_binding;
        let binding =
            binding.ok_or_else(|| self.illegal("a PAYMENT says how its payer is bound"))?;
        if settlement.network != payment.network {
            return Err(self.illegal("a further PAYMENT is on the network of the first"));
        }
        for tx_hash in std::iter::once(payment.tx_hash).chain(payment.fee_tx_hash) {
            if settlement.declared(tx_hash).is_none() {
                settlement.declared.push(Declared {
                    tx_hash,
                    payer: payment.payer_address,
                    binding,
                    payment: record.position,
                    standing: DeclaredStanding::Unseen,
                });
            }
        }
        settlement.payments.push(record);
        Ok(settlement)
    }

    fn lapsed(&self, state: State, lapsed: Lapsed) -> Result<State, Illegal> {
        let LapsedWindow::Interaction(window) = lapsed.window else {
            return Err(self.illegal("the window is of another machine"));
        };
        let rule = table::lapse_of(window);
        if state.open_window() != Some(window) || lapsed.code != rule.code {
            return Err(self.illegal("this window is not open, or its code is another"));
        }
        if state
            .deadline()
            .is_none_or(|deadline| self.recorded.recorded_at_ms <= deadline)
        {
            return Err(self.illegal("the window had not passed"));
        }
        let closed = closing(&state, Some(lapsed.code));
        match (rule.to, state) {
            (StateName::Expired, _) => Ok(State::Expired(closed)),
            (StateName::Failed, _) => Ok(State::Failed(closed)),
            (StateName::Disputed, _) => Ok(State::Disputed(Dispute {
                closing: closed,
                unpaid: None,
            })),
            (_, state) => {
                let mut watched = self.watched(state)?;
                let looks_ms = watched.deal.opening.parameters.looks_ms;
                watched.settlement.schedule = Schedule::Look {
                    number: 1,
                    due: self.recorded.recorded_at_ms.saturating_add_ms(looks_ms[0]),
                };
                Ok(watched.verified())
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "refuses every other state")]
    fn watched(&self, state: State) -> Result<Watched, Illegal> {
        match state {
            State::Verified {
                deal,
                delivery,
                verification,
                settlement: Stage::Watching(settlement),
            } => Ok(Watched {
                deal,
                delivery,
                verification,
                settlement,
            }),
            _ => Err(self.illegal("no payment is being watched")),
        }
    }

    fn stand(
        &self,
        watched: &mut Watched,
        tx_hash: TxHash,
        standing: DeclaredStanding,
    ) -> Result<(), Illegal> {
        let declared = watched
            .settlement
            .declared
            .iter_mut()
            .find(|d| d.tx_hash == tx_hash);
        let declared = declared.ok_or_else(|| self.illegal("the transaction is not declared"))?;
        if matches!(declared.standing, DeclaredStanding::Refuted(_))
            || declared.standing == standing
        {
            return Err(self.illegal("the transaction already stands like that"));
        }
        declared.standing = standing;
        Ok(())
    }

    fn seen(&self, mut watched: Watched, seen: &Seen) -> Result<State, Illegal> {
        self.stand(
            &mut watched,
            seen.tx_hash,
            DeclaredStanding::Seen(seen.block),
        )?;
        Ok(watched.verified())
    }

    fn unseen(&self, mut watched: Watched, tx_hash: TxHash) -> Result<State, Illegal> {
        self.stand(&mut watched, tx_hash, DeclaredStanding::Unseen)?;
        Ok(watched.verified())
    }

    fn refuted(&self, mut watched: Watched, refuted: &Refuted) -> Result<State, Illegal> {
        if refuted.code != refuted.cause.code() {
            return Err(self.illegal("the code does not belong to the cause"));
        }
        self.stand(
            &mut watched,
            refuted.tx_hash,
            DeclaredStanding::Refuted(refuted.evidence.block),
        )?;
        watched.settlement.failures += 1;
        watched.settlement.last_failure = Some(refuted.code);
        Ok(watched.unless_disputed(self.recorded.recorded_at_ms))
    }

    fn looked(&self, mut watched: Watched, looked: &Looked) -> Result<State, Illegal> {
        let settlement = &mut watched.settlement;
        let expected = Schedule::Look {
            number: looked.look,
            due: looked.due_at_ms,
        };
        if settlement.schedule != expected || settlement.paused_since.is_some() {
            return Err(self.illegal("this look is not due"));
        }
        let head_ms = looked.head.timestamp_s.saturating_mul(1_000);
        if TimestampMs::new(head_ms) < looked.due_at_ms {
            return Err(self.illegal("the head is older than the look"));
        }
        let parameters = &watched.deal.opening.parameters;
        let now = self.recorded.recorded_at_ms;
        if looked.is_pending() {
            let due = now.saturating_add_ms(parameters.limits.pending_look_ms);
            settlement.schedule = Schedule::Look {
                number: looked.look,
                due,
            };
            return Ok(watched.verified());
        }
        settlement.failures += 1;
        // The fourth negative look fills the counter, so no fifth is ever scheduled.
        if let Some(wait_ms) = usize::try_from(looked.look)
            .ok()
            .and_then(|next| parameters.looks_ms.get(next))
        {
            let due = now.saturating_add_ms(*wait_ms);
            settlement.schedule = Schedule::Look {
                number: looked.look + 1,
                due,
            };
        }
        Ok(watched.unless_disputed(self.recorded.recorded_at_ms))
    }

    fn confirmed(&self, watched: Watched, confirmed: &Confirmed) -> Result<State, Illegal> {
        if confirmed.claims.is_empty() != watched.deal.offer.total.is_zero() {
            return Err(self.illegal("a confirmation claims transfers unless nothing was due"));
        }
        let names_all = confirmed.claims.iter().all(|claim| {
            let mut evidence = confirmed.evidence.iter();
            watched.settlement.declared(claim.tx_hash).is_some()
                && evidence.any(|evidence| evidence.tx_hash == claim.tx_hash)
        });
        if !names_all {
            return Err(self.illegal("a claim names a transaction without evidence"));
        }
        let shown = |claim| PaidTransfer::shown(claim, &confirmed.evidence);
        let paid = confirmed.claims.iter().filter_map(shown);
        let mut aftermath = watched.aftermath(paid.collect(), self.recorded.recorded_at_ms);
        aftermath.stand_by(&confirmed.evidence);
        let is_free = confirmed.claims.is_empty();
        let opener = watched
            .settlement
            .payments
            .last()
            .unwrap_or(&watched.verification)
            .envelope;
        Ok(State::Completed {
            deal: watched.deal,
            opener,
            completion: Completion {
                claims: confirmed.claims.clone(),
                position: self.recorded.position,
                hash: self.recorded.hash,
                is_final: false,
                reversed: Vec::new(),
            },
            aftermath: (!is_free).then_some(aftermath),
        })
    }

    /// What happens on Base to an interaction that is over.
    #[expect(clippy::wildcard_enum_match_arm, reason = "refuses every other event")]
    fn afterwards(&self, mut state: State, event: &Event) -> Result<State, Illegal> {
        let refused = |why| self.illegal(why);
        let bound = match event {
            Event::Settlement(SettlementEvent::Reversed(reversed)) => {
                Some(Bound::Reversed(reversed.tx_hash))
            }
            Event::Settlement(SettlementEvent::Returned(returned)) => {
                Some(Bound::Returned(returned.tx_hash))
            }
            Event::Settlement(SettlementEvent::Final(reached)) => Some(Bound::Final(&reached.head)),
            _ => None,
        };
        if let Some(bound) = bound {
            return self.after_binding(state, &bound);
        }
        let late_until = self.late_until(&state);
        let aftermath = state
            .aftermath_mut()
            .ok_or_else(|| refused("nothing is watched any more"))?;
        match event {
            Event::Settlement(SettlementEvent::Seen(seen)) => aftermath.seen(seen),
            Event::Settlement(SettlementEvent::Unseen(unseen)) => aftermath.unseen(unseen.tx_hash),
            Event::Settlement(SettlementEvent::Late(late)) => aftermath
                .late(late)
                .map(|()| aftermath.watch_late(late, late_until)),
            _ => Err("the interaction is over"),
        }
        .map_err(refused)?;
        Ok(state)
    }

    /// Until when a transfer that is bound late by this record is watched.
    fn late_until(&self, state: &State) -> TimestampMs {
        let watched = state.aftermath().and_then(|(deal, aftermath)| {
            let network = deal.opening.parameters.network(&aftermath.network)?;
            Some(network.late_ms)
        });
        let now = self.recorded.recorded_at_ms;
        now.saturating_add_ms(watched.unwrap_or_default())
    }

    fn after_binding(&self, mut state: State, event: &Bound<'_>) -> Result<State, Illegal> {
        let nothing = "no transfer that is bound is watched";
        if let State::Completed {
            deal,
            opener,
            mut completion,
            aftermath: Some(mut aftermath),
        } = state
        {
            evolve_bound(Some(&mut completion), &mut aftermath, event)
                .map_err(|why| self.illegal(why))?;
            let aftermath = unless_over(&completion, aftermath);
            return Ok(State::Completed {
                deal,
                opener,
                completion,
                aftermath,
            });
        }
        let aftermath = state.aftermath_mut();
        let aftermath = aftermath.ok_or_else(|| self.illegal(nothing))?;
        evolve_bound(None, aftermath, event).map_err(|why| self.illegal(why))?;
        Ok(state)
    }
}

fn closing(state: &State, code: Option<Code>) -> Closing {
    Closing {
        opening: state.opening().clone(),
        opener: state.opener(),
        code,
    }
}
