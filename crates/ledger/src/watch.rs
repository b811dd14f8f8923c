//! Observations and time: what happens to interactions when nobody sends anything.

use crate::draft::{BatchDraft, SubjectJournal};
use crate::turn::Lookups;
use std::collections::BTreeSet;
use x811_protocol::code::Code;
use x811_protocol::event::{Claim, Event, NetworkBlind, NetworkEvent, NetworkSighted};
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::Interaction;
use x811_protocol::machine::{Journal as _, lapse_next};
use x811_protocol::observation::{BlindCause, Block, NetworkHead, Observation, Sweep};
use x811_protocol::settlement::{OtherClaims, SettlingMachine, take_sweep};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::{Fault, HeldMachine, LAPSES_AT_A_TIME, World, with_machine};

/// How far an observation was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// As far as it goes.
    Done,
    /// Until the batch was full; what was taken in causes nothing a second time.
    BatchFull,
}

/// Takes in what a watcher reports. A head from later than this ledger's clock is none: a payment below it
/// would be called older than an ACCEPT that came before it.
///
/// # Errors
/// A [`Fault`] is a defect of ours: the draft must go back to where it stood before.
pub(crate) fn observe(
    draft: &mut BatchDraft,
    observation: &Observation,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<Progress, Fault> {
    match observation {
        Observation::Sweep(sweep) if is_ahead(draft.world(), &sweep.network, &sweep.head, now) => {
            draft.world_mut().heard_of(&sweep.network, &sweep.silent);
            cannot_see(draft, &sweep.network, BlindCause::Unreachable, now).map(|()| Progress::Done)
        }
        Observation::Sweep(sweep) => {
            draft.world_mut().heard_of(&sweep.network, &sweep.silent);
            see(draft, &sweep.network, sweep.head, now)?;
            // Windows that stood still go on, and may have been due before.
            if lapse_first(draft, None, now) == AfterLapses::NextBatch {
                return Ok(Progress::BatchFull);
            }
            sweep_interactions(draft, sweep, lookups, now)
        }
        Observation::Header { network, block } => {
            if !is_ahead(draft.world(), network, block, now) {
                draw(draft, network, *block, now);
            }
            Ok(Progress::Done)
        }
        Observation::Unreachable {
            network,
            cause,
            silent,
        } => {
            draft.world_mut().heard_of(network, silent);
            cannot_see(draft, network, *cause, now).map(|()| Progress::Done)
        }
    }
}

/// Notes the head and, when it changes what can be seen, says so in the log.
fn see(draft: &mut BatchDraft, network: &str, head: Block, now: TimestampMs) -> Result<(), Fault> {
    let Some((fresh_ms, blind_after_ms)) = limits(draft.world(), network) else {
        return Ok(());
    };
    draft.world_mut().saw_head(NetworkHead::new(network, head));
    let age_ms = now.since(head.time());
    let blind_since = draft
        .world()
        .sight(network)
        .and_then(|sight| sight.blind_since);
    let event = match blind_since {
        Some(since) if age_ms < fresh_ms => Event::Network(NetworkEvent::Sighted(NetworkSighted {
            head,
            blind_ms: now.since(since),
        })),
        None if age_ms > blind_after_ms => Event::Network(NetworkEvent::Blind(NetworkBlind {
            cause: BlindCause::StaleHead,
            head: Some(head),
            silent: silent(draft.world(), network),
        })),
        Some(_) | None => return Ok(()),
    };
    draft
        .append(&Stream::Network(network.to_owned()), event, None, now)
        .map(|_| ())
}

/// Blind at once when the endpoint is on another chain or nothing was ever seen, else once the
/// last head is too old.
fn cannot_see(
    draft: &mut BatchDraft,
    network: &str,
    cause: BlindCause,
    now: TimestampMs,
) -> Result<(), Fault> {
    let known = draft
        .world()
        .sight(network)
        .is_some_and(|sight| sight.head.is_some());
    // That endpoints do not agree is no news of a network that nothing was seen of yet.
    let at_once = (!known && cause != BlindCause::StaleHead) || cause == BlindCause::WrongChain;
    if at_once || blind_deadline(draft.world(), network).is_some_and(|deadline| now > deadline) {
        return go_blind(draft, network, cause, now);
    }
    Ok(())
}

fn go_blind(
    draft: &mut BatchDraft,
    network: &str,
    cause: BlindCause,
    now: TimestampMs,
) -> Result<(), Fault> {
    let Some(sight) = draft.world().sight(network) else {
        return Ok(());
    };
    if sight.blind_since.is_some() {
        return Ok(());
    }
    let head = sight.head.as_ref().map(|head| Block {
        number: head.number,
        hash: head.hash,
        timestamp_s: head.timestamp_s,
    });
    let event = Event::Network(NetworkEvent::Blind(NetworkBlind {
        cause,
        head,
        silent: silent(draft.world(), network),
    }));
    draft
        .append(&Stream::Network(network.to_owned()), event, None, now)
        .map(|_| ())
}

/// Labels of the endpoints that gave no usable answer last, in order.
fn silent(world: &World, network: &str) -> Vec<String> {
    let sight = world.sight(network);
    sight.map_or_else(Vec::new, |sight| sight.silent.clone())
}

/// Whether the block is from later than this ledger's clock.
fn is_ahead(world: &World, network: &str, block: &Block, now: TimestampMs) -> bool {
    let parameters = world.parameters();
    let network = parameters.and_then(|(_, set)| set.network(network));
    network.is_some_and(|network| block.is_ahead(network.chain_id, now))
}

fn limits(world: &World, network: &str) -> Option<(u64, u64)> {
    let (_, parameters) = world.parameters()?;
    let network = parameters.network(network)?;
    Some((network.fresh_ms, network.blind_after_ms))
}

/// When a network that nothing is heard of becomes blind.
fn blind_deadline(world: &World, network: &str) -> Option<TimestampMs> {
    let sight = world.sight(network)?;
    if sight.blind_since.is_some() {
        return None;
    }
    let head = sight.head.as_ref()?;
    let (_, blind_after_ms) = limits(world, network)?;
    Some(head.time().saturating_add_ms(blind_after_ms))
}

/// Every interaction that declared one of the sweep's transactions, rivals in order of PAYMENT.
fn sweep_interactions(
    draft: &mut BatchDraft,
    sweep: &Sweep,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<Progress, Fault> {
    let mut concerned: BTreeSet<(u64, InteractionId)> = BTreeSet::new();
    for tx_hash in sweep.transactions.keys() {
        for id in draft.world().declarers(&sweep.network, *tx_hash) {
            let declared_at = draft
                .world()
                .interaction(id)
                .and_then(|live| live.state.settlement()?.declared(*tx_hash))
                .map_or(u64::MAX, |declared| declared.payment);
            // Those that are over come last, for they take only what nobody waits for.
            concerned.insert((declared_at, id));
        }
    }
    let mut done = BTreeSet::new();
    for (_, id) in concerned {
        if draft.is_full() {
            return Ok(Progress::BatchFull);
        }
        if done.insert(id) {
            isolated(draft, id.into(), |draft| {
                sweep_subject::<Interaction>(draft, sweep, id, lookups, now)
            });
        }
    }
    Ok(Progress::Done)
}

/// A block draws in every cycle that waits for it (round.md, "When it is decided", rule 9).
fn draw(draft: &mut BatchDraft, network: &str, block: Block, now: TimestampMs) {
    for id in draft.world().drawn_at(network, block.number) {
        let subject = Subject::Round(id);
        isolated(draft, subject, |draft| {
            lapse_one(draft, subject, now)?;
            let live = draft.world().round(id);
            let Some(drawn) = live.and_then(|live| live.state.drawn_by(block)) else {
                return Ok(());
            };
            let event = Event::CycleDrawn(drawn);
            draft
                .append(&Stream::Of(subject), event, None, now)
                .map(|_| ())
        });
    }
}

/// Runs `act` for one subject; `false` when it broke the rules. What it did is then undone, and
/// the others are not held up by it.
pub(crate) fn isolated(
    draft: &mut BatchDraft,
    subject: Subject,
    act: impl FnOnce(&mut BatchDraft) -> Result<(), Fault>,
) -> bool {
    let savepoint = draft.savepoint();
    let Err(fault) = act(draft) else {
        return true;
    };
    tracing::error!(%subject, %fault, "a decision broke the rules and was dropped");
    draft.restore(savepoint);
    false
}

/// Each receipt of a provider names the one before it, so that one decision reverses one
/// transaction; then the same sweep is decided again for the next.
fn sweep_subject<M: SettlingMachine + HeldMachine>(
    draft: &mut BatchDraft,
    sweep: &Sweep,
    id: M::Id,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<(), Fault> {
    loop {
        let before = reversed::<M>(draft.world(), id);
        let claimed: BTreeSet<Claim> = lookups
            .claims
            .iter()
            .copied()
            .chain(draft.claims())
            .collect();
        let others = OtherClaims {
            awaited: &awaited::<M>(draft.world(), sweep, id),
            claimed: &claimed,
        };
        let mut journal = SubjectJournal::<M>::open(draft, id, None, now);
        take_sweep(&mut journal, sweep, others, now)?;
        if reversed::<M>(draft.world(), id).is_subset(&before) {
            return Ok(());
        }
    }
}

/// Transactions that paid, or were bound late, and have disappeared.
fn reversed<M: SettlingMachine + HeldMachine>(world: &World, id: M::Id) -> BTreeSet<TxHash> {
    M::state(world, id).map_or_else(BTreeSet::new, M::reversed)
}

/// Of what a subject that is over declared, the transactions that others wait for.
fn awaited<M: SettlingMachine + HeldMachine>(
    world: &World,
    sweep: &Sweep,
    id: M::Id,
) -> BTreeSet<TxHash> {
    let aftermath = M::state(world, id).and_then(M::aftermath);
    let declared = aftermath.map_or(&[][..], |aftermath| &aftermath.declared);
    let hashes = declared.iter().map(|declared| declared.tx_hash);
    hashes
        .filter(|tx_hash| world.is_awaited(&sweep.network, *tx_hash))
        .collect()
}

/// What may follow the lapses that are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterLapses {
    /// A decision; with the code of the lapse that ended the subject that was asked about.
    Decision(Option<Code>),
    /// Nothing in this batch: it has no room for all that must come first.
    NextBatch,
}

/// Records everything that is due at `now`, in the order of deadlines, or as much of it as may hold up a
/// decision. `own` is the subject that is to be decided about.
pub(crate) fn lapse_first(
    draft: &mut BatchDraft,
    own: Option<Subject>,
    now: TimestampMs,
) -> AfterLapses {
    let mut ended = None;
    while draft.lapses_at(now) < LAPSES_AT_A_TIME
        && let Some(subject) = draft.first_due(now)
    {
        if !draft.has_room_for_lapse() {
            return AfterLapses::NextBatch;
        }
        let (position, mut code) = (draft.world().head().size, None);
        let is_kept = isolated(draft, subject, |draft| {
            code = lapse_next_of(draft, subject, now)?;
            Ok(())
        });
        if is_kept && draft.world().head().size > position {
            draft.note_lapse(position, now);
        } else {
            draft.give_up_lapse(subject);
        }
        if own == Some(subject) {
            ended = code;
        }
    }
    AfterLapses::Decision(ended)
}

/// Records everything that is due, as [`lapse_first`] does, and which networks are blind by now. Returns how
/// many subjects broke the rules: those stay due.
///
/// # Errors
/// A [`Fault`] is a defect of ours: the draft must go back to where it stood before.
pub(crate) fn lapse(draft: &mut BatchDraft, now: TimestampMs) -> Result<usize, Fault> {
    if lapse_first(draft, None, now) == AfterLapses::NextBatch {
        return Ok(draft.lapses_given_up());
    }
    for network in networks(draft.world()) {
        if blind_deadline(draft.world(), &network).is_some_and(|deadline| now > deadline) {
            go_blind(draft, &network, BlindCause::StaleHead, now)?;
        }
    }
    Ok(draft.lapses_given_up())
}

/// Records every lapse that is due of one subject.
///
/// # Errors
/// A [`Fault`] is a defect of ours: the draft must go back to where it stood before.
pub(crate) fn lapse_one(
    draft: &mut BatchDraft,
    subject: Subject,
    now: TimestampMs,
) -> Result<(), Fault> {
    loop {
        let position = draft.world().head().size;
        lapse_next_of(draft, subject, now)?;
        if draft.world().head().size == position {
            return Ok(());
        }
    }
}

/// Records the lapse that is due first of one subject, if one is; gives its code where it ended the subject.
fn lapse_next_of(
    draft: &mut BatchDraft,
    subject: Subject,
    now: TimestampMs,
) -> Result<Option<Code>, Fault> {
    with_machine!(subject, M(id) => lapse_next_in::<M>(draft, id, now))
}

fn lapse_next_in<M: HeldMachine>(
    draft: &mut BatchDraft,
    id: M::Id,
    now: TimestampMs,
) -> Result<Option<Code>, Fault> {
    let mut journal = SubjectJournal::<M>::open(draft, id, None, now);
    let lapse = lapse_next(&mut journal, now)?;
    let is_over = journal.state().is_some_and(M::is_terminal);
    let code = match lapse {
        Some(Event::Lapsed(lapsed)) => Some(lapsed.code),
        Some(_) | None => None,
    };
    Ok(code.filter(|_| is_over))
}

/// When something is due next.
pub(crate) fn next_due(world: &World) -> Option<TimestampMs> {
    let blind = networks(world)
        .into_iter()
        .filter_map(|name| blind_deadline(world, &name));
    world
        .next_deadline()
        .map(|(deadline, _)| deadline)
        .into_iter()
        .chain(blind)
        .min()
}

fn networks(world: &World) -> Vec<String> {
    world.parameters().map_or_else(Vec::new, |(_, parameters)| {
        parameters
            .networks
            .iter()
            .map(|network| network.name.clone())
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::event::{LedgerEvent, LedgerResumed};
    use x811_protocol::id::EnvelopeId;

    #[test]
    fn lc_1_a_faulty_interaction_is_undone_alone() {
        let world = World::empty();
        let mut draft = BatchDraft::on(&world, None);
        let now = TimestampMs::new(1_767_312_000_000);
        let id = InteractionId::from(EnvelopeId::from_parts(now.as_ms(), &[1; 10]));
        let network = Stream::Network("base".to_owned());
        let blind = || {
            let cause = BlindCause::StaleHead;
            Event::Network(NetworkEvent::Blind(NetworkBlind {
                cause,
                head: None,
                silent: Vec::new(),
            }))
        };
        let legal = |draft: &mut BatchDraft| draft.append(&network, blind(), None, now).map(|_| ());
        assert!(isolated(&mut draft, id.into(), legal), "the first is kept");
        let size = draft.world().head().size;
        // What it did before its fault goes with it.
        let faulty = |draft: &mut BatchDraft| {
            let event = Event::Network(NetworkEvent::Blind(NetworkBlind {
                cause: BlindCause::WrongChain,
                head: None,
                silent: Vec::new(),
            }));
            draft.append(&Stream::Network("other".to_owned()), event, None, now)?;
            let event = Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
                gap_ms: 1,
                checkpoint_adopted: false,
            }));
            draft.append(&Stream::Ledger, event, None, now).map(|_| ())
        };
        assert!(!isolated(&mut draft, id.into(), faulty));
        assert_eq!(draft.world().head().size, size);
        assert!(draft.world().sight("other").is_none());
        assert_eq!(draft.finish().unwrap().commit.records.len(), 1);
    }

    #[test]
    fn lc_1_3_a_lapse_that_is_undone_does_not_count_as_one_of_a_backlog() {
        let world = World::empty();
        let mut draft = BatchDraft::on(&world, None);
        let now = TimestampMs::new(1_767_312_000_000);
        let id = InteractionId::from(EnvelopeId::from_parts(now.as_ms(), &[1; 10]));
        let network = Stream::Network("base".to_owned());
        let mut lapsed = |is_legal: bool| {
            let lapse = |draft: &mut BatchDraft| {
                let position = draft.world().head().size;
                draft.note_lapse(position, now);
                let event = if is_legal {
                    Event::Network(NetworkEvent::Blind(NetworkBlind {
                        cause: BlindCause::StaleHead,
                        head: None,
                        silent: Vec::new(),
                    }))
                } else {
                    Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
                        gap_ms: 1,
                        checkpoint_adopted: false,
                    }))
                };
                let stream = if is_legal { &network } else { &Stream::Ledger };
                draft.append(stream, event, None, now).map(|_| ())
            };
            (isolated(&mut draft, id.into(), lapse), draft.lapses_at(now))
        };
        assert_eq!(lapsed(true), (true, 1));
        assert_eq!(lapsed(false), (false, 1));
    }
}
