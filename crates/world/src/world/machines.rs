//! The live subjects of one machine (machines.md section 2), and what every machine has in common: its
//! records in order, its notices, its deadlines, what downtime moves.

use super::apply::Applying;
use super::interactions::{put_in_place, watched_until};
use super::written::write_state;
use super::{Fault, Live, Touched, World};
use crate::projection::{DetailForm, row_of};
use crate::recent::Scattered;
use crate::row::SubjectRow;
use imbl::{OrdMap, OrdSet};
use std::any::Any;
use std::sync::Arc;
use x811_eventlog::{RecordError, write_canonical};
use x811_protocol::capability::agreement::Agreement;
use x811_protocol::capability::descriptor::Descriptor;
use x811_protocol::capability::session::Session;
use x811_protocol::contract::Contract;
use x811_protocol::did::Did;
use x811_protocol::interaction::{self, Interaction};
use x811_protocol::machine::{Machine, OpenWindow, Recorded};
use x811_protocol::parameters::Parameters;
use x811_protocol::settlement::SettlingMachine as _;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// A subject that the last record ended.
type Ended<M> = (<M as Machine>::Id, Arc<Live<<M as Machine>::State>>);

/// A subject before a record of it, if it was there, and after.
type Evolved<M> = (
    Option<Arc<Live<<M as Machine>::State>>>,
    Live<<M as Machine>::State>,
);

/// Live subjects: those whose state can change, or that a notice about is owed.
#[derive(Debug, Clone)]
pub struct Machines<M: Machine> {
    /// Most ids are ordered by time, so what a batch touches lies together, and little is copied for it.
    live: OrdMap<M::Id, Arc<Live<M::State>>>,
    /// Subjects that are over and whose transactions are still watched; empty for a machine that is not paid.
    pub(super) aftermath: OrdMap<M::Id, Arc<Live<M::State>>>,
    /// Those with an open window of the ledger's, which downtime moves. What waits for a signed moment
    /// costs nothing at a restart, however many there are.
    moving: OrdSet<M::Id>,
    /// What the last record ended, which is held no longer.
    pub(super) ended: Option<Ended<M>>,
    /// Open ones by who opened them and with whom; never zero.
    open_pairs: Scattered<(Did, Did), u64>,
    /// Open ones by who opened them; never zero.
    open_by: Scattered<Did, u64>,
}

impl<M: Machine> Default for Machines<M> {
    fn default() -> Machines<M> {
        Machines {
            live: OrdMap::new(),
            aftermath: OrdMap::new(),
            moving: OrdSet::new(),
            ended: None,
            open_pairs: Scattered::default(),
            open_by: Scattered::default(),
        }
    }
}

/// A machine whose subjects a world holds.
pub trait HeldMachine: Machine {
    /// Those of that world.
    fn of(world: &World) -> &Machines<Self>;

    /// The same, to be changed.
    fn of_mut(world: &mut World) -> &mut Machines<Self>;

    /// A state of this machine as one of any machine.
    fn subject_state(state: &Self::State) -> SubjectState<'_>;

    /// The state of a subject, while it takes records.
    fn state(world: &World, id: Self::Id) -> Option<&Self::State> {
        Self::of(world).held(id).map(|live| &live.state)
    }

    /// The state of a subject after the last record, also when that ended it.
    fn latest(world: &World, id: Self::Id) -> Option<&Self::State> {
        Self::of(world).latest(id).map(|live| &live.state)
    }
}

/// Every machine: the member of [`Subjects`] that has its live ones, its variant of [`Subject`], its type,
/// and the word for it ([`Subject::kind`]). What is done for each of them alike is a macro that takes this
/// list, after what else it was given in parentheses.
#[macro_export]
macro_rules! for_each_machine {
    ($for_each:ident) => {
        $crate::for_each_machine! { [$for_each] }
    };
    ([$($for_each:tt)+] $(($($given:tt)*))?) => {
        $($for_each)+! {
            $(($($given)*))?
            interactions: Interaction(x811_protocol::interaction::Interaction), "interaction";
            contracts: Contract(x811_protocol::contract::Contract), "contract";
            descriptors: Descriptor(x811_protocol::capability::descriptor::Descriptor), "descriptor";
            sessions: Session(x811_protocol::capability::session::Session), "session";
            agreements: Agreement(x811_protocol::capability::agreement::Agreement), "agreement";
            conducts: Conduct(x811_protocol::capability::conduct::Conduct), "conduct";
            rounds: Round(x811_protocol::round::Round), "round";
        }
    };
}

/// Evaluates an expression about a subject, in which `$machine` is the type of its machine and `$id` its id
/// there: `with_machine!(subject, M(id) => M::state(world, id).is_some())`.
#[macro_export]
macro_rules! with_machine {
    (
        ($subject:expr, $machine:ident($id:pat) => $result:expr)
        $($held:ident: $variant:ident($of:ty), $kind:literal;)+
    ) => {
        match $subject {
            $(x811_protocol::stream::Subject::$variant($id) => {
                type $machine = $of;
                $result
            })+
        }
    };
    ($subject:expr, $machine:ident($id:pat) => $result:expr) => {
        $crate::for_each_machine!([$crate::with_machine] ($subject, $machine($id) => $result))
    };
}

macro_rules! subjects {
    ($($held:ident: $subject:ident($machine:ty), $kind:literal;)+) => {
        /// Live subjects of every machine.
        #[derive(Debug, Clone, Default)]
        pub struct Subjects {
            $(pub(super) $held: Machines<$machine>,)+
        }

        /// The state of a subject of any machine.
        #[derive(Debug, Clone, Copy)]
        pub enum SubjectState<'a> {
            $(/// Of a subject of this machine.
            $subject(&'a <$machine as Machine>::State),)+
        }

        /// A subject of any machine after its last record.
        #[derive(Debug, Clone)]
        pub enum LiveSubject {
            $(/// Of this machine.
            $subject(Arc<Live<<$machine as Machine>::State>>),)+
        }

        impl LiveSubject {
            /// Returns the row that readers see of it.
            pub fn row<D: DetailForm>(&self) -> SubjectRow<D> {
                match self {
                    $(LiveSubject::$subject(live) => row_of::<$machine, D>(live),)+
                }
            }
        }

        /// What the last record ended, of every machine.
        pub(super) struct AllEnded {
            $($held: Option<Ended<$machine>>,)+
        }

        $(impl HeldMachine for $machine {
            fn of(world: &World) -> &Machines<$machine> {
                &world.subjects.$held
            }

            fn of_mut(world: &mut World) -> &mut Machines<$machine> {
                &mut world.subjects.$held
            }

            fn subject_state(state: &Self::State) -> SubjectState<'_> {
                SubjectState::$subject(state)
            }
        })+

        impl Subjects {
            /// The words for the machines.
            pub const KINDS: &[&str] = &[$($kind),+];

            /// Forgets what the record before ended; gives it back for when the next one is refused.
            pub(super) fn take_ended(&mut self) -> AllEnded {
                AllEnded { $($held: self.$held.ended.take(),)+ }
            }

            pub(super) fn put_ended(&mut self, ended: AllEnded) {
                $(self.$held.ended = ended.$held;)+
            }
        }

        impl World {
            /// Those of a machine that is known by its type alone; `None` for one outside the list.
            pub(crate) fn machines<M: Machine>(&self) -> Option<&Machines<M>> {
                $(if let Some(held) = (&self.subjects.$held as &dyn Any).downcast_ref() {
                    return Some(held);
                })+
                None
            }

            /// Moves the windows that the ledger was away for.
            pub(super) fn move_every_window(&mut self, gap_ms: u64, back_at: TimestampMs) {
                $(self.move_windows::<$machine>(gap_ms, back_at);)+
            }

            /// Subjects of every machine with an open window of the ledger's.
            pub fn moving(&self) -> impl Iterator<Item = Subject> {
                std::iter::empty()
                    $(.chain(self.subjects.$held.moving.iter().map(|id| Subject::$subject(*id))))+
            }

            /// All live subjects, machine by machine in order of id.
            pub fn live(&self) -> impl Iterator<Item = LiveSubject> {
                std::iter::empty()
                    $(.chain(self.subjects.$held.live.values().cloned().map(LiveSubject::$subject)))+
            }

            /// A subject that is held or that the last record ended.
            pub fn latest_subject(&self, subject: Subject) -> Option<LiveSubject> {
                Some(match subject {
                    $(Subject::$subject(id) => {
                        LiveSubject::$subject(self.subjects.$held.latest(id)?.clone())
                    })+
                })
            }
        }
    };
}

for_each_machine!(subjects);

impl World {
    /// The state of a subject after the last record, also when that ended it.
    pub(super) fn latest_state(&self, subject: Subject) -> Option<SubjectState<'_>> {
        with_machine!(subject, M(id) => Some(M::subject_state(M::latest(self, id)?)))
    }

    /// The window that is open of a subject.
    pub fn window_of(&self, subject: Subject) -> Option<OpenWindow> {
        with_machine!(subject, M(id) => M::window(&M::of(self).get(id)?.state))
    }

    /// When time alone acts on that subject.
    pub fn deadline_of(&self, subject: Subject) -> Option<TimestampMs> {
        self.window_of(subject).map(|window| window.ends_at)
    }

    /// When the message was recorded that opened that subject.
    pub fn opened_at(&self, subject: Subject) -> Option<TimestampMs> {
        with_machine!(subject, M(id) => Some(M::of(self).get(id)?.opened_at))
    }

    /// The state of a subject about which something may still be recorded at `now`: it is live, or a transaction
    /// of it is watched.
    pub(crate) fn unfinished<M: HeldMachine>(
        &self,
        id: M::Id,
        now: TimestampMs,
    ) -> Option<&M::State> {
        if let Some(live) = M::of(self).get(id) {
            return Some(&live.state);
        }
        let state = M::state(self, id)?;
        let until = M::subject_state(state).paid().and_then(watched_until);
        until.is_none_or(|until| until >= now).then_some(state)
    }

    /// The next place in the stream of a subject.
    pub(super) fn next_seq_of(&self, subject: Subject) -> u64 {
        with_machine!(subject, M(id) => M::of(self).next_seq(id))
    }
}

impl<'a> SubjectState<'a> {
    /// The state of an interaction: no other machine is paid.
    const fn paid(self) -> Option<&'a interaction::State> {
        match self {
            SubjectState::Interaction(state) => Some(state),
            SubjectState::Contract(_)
            | SubjectState::Descriptor(_)
            | SubjectState::Session(_)
            | SubjectState::Agreement(_)
            | SubjectState::Conduct(_)
            | SubjectState::Round(_) => None,
        }
    }

    /// Appends the state as it is hashed.
    pub(super) fn write_hashed(self, out: &mut Vec<u8>) -> Result<(), RecordError> {
        match self {
            SubjectState::Interaction(state) => write_state(out, state),
            SubjectState::Contract(state) => write_canonical(out, state),
            SubjectState::Descriptor(state) => write_canonical(out, state),
            SubjectState::Session(state) => write_canonical(out, state),
            SubjectState::Agreement(state) => write_canonical(out, state),
            SubjectState::Conduct(state) => write_canonical(out, state),
            SubjectState::Round(state) => write_canonical(out, &state.hashed()),
        }
    }
}

impl<M: Machine> Machines<M> {
    /// A live one.
    pub fn get(&self, id: M::Id) -> Option<&Arc<Live<M::State>>> {
        self.live.get(&id)
    }

    /// One that takes records: it is live, or over and its transactions still watched.
    pub(crate) fn held(&self, id: M::Id) -> Option<&Arc<Live<M::State>>> {
        self.get(id).or_else(|| self.aftermath.get(&id))
    }

    /// One that takes records, or the one that the last record ended.
    pub fn latest(&self, id: M::Id) -> Option<&Arc<Live<M::State>>> {
        let ended = self.ended.as_ref().filter(|(known, _)| *known == id);
        self.held(id).or(ended.map(|(_, live)| live))
    }

    /// All live ones, in order of id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&M::Id, &Arc<Live<M::State>>)> {
        self.live.iter()
    }

    /// All that take records: the live ones, then those that are over.
    pub(crate) fn all_held(&self) -> impl Iterator<Item = (&M::Id, &Arc<Live<M::State>>)> {
        self.live.iter().chain(&self.aftermath)
    }

    /// How many are live.
    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// By how many pairs any are open.
    pub(crate) fn open_pairs(&self) -> usize {
        self.open_pairs.len()
    }

    /// Open ones that `by` opened.
    pub(crate) fn open_by(&self, by: Did) -> u64 {
        self.open_by.get(&by).copied().unwrap_or(0)
    }

    /// Open ones that `by` opened with `with`.
    pub fn open_between(&self, by: Did, with: Did) -> u64 {
        self.open_pairs.get(&(by, with)).copied().unwrap_or(0)
    }

    pub(super) fn next_seq(&self, id: M::Id) -> u64 {
        self.held(id).map_or(0, |live| live.next_seq)
    }

    /// Where subjects are held that are over, or that are not.
    const fn place(&mut self, is_over: bool) -> &mut OrdMap<M::Id, Arc<Live<M::State>>> {
        if is_over {
            &mut self.aftermath
        } else {
            &mut self.live
        }
    }

    fn count(&mut self, before: Option<&M::State>, after: Option<&M::State>) {
        let [before, after] = [before, after].map(|state| state.and_then(M::open_between));
        if before == after {
            return;
        }
        if let Some(pair) = before {
            change_count(&mut self.open_pairs, pair, |open| open.saturating_sub(1));
            change_count(&mut self.open_by, pair.0, |open| open.saturating_sub(1));
        }
        if let Some(pair) = after {
            change_count(&mut self.open_pairs, pair, |open| open + 1);
            change_count(&mut self.open_by, pair.0, |open| open + 1);
        }
    }
}

fn change_count<K: std::hash::Hash + Eq + Clone>(
    counts: &mut Scattered<K, u64>,
    key: K,
    change: impl FnOnce(u64) -> u64,
) {
    match change(counts.get(&key).copied().unwrap_or(0)) {
        0 => counts.remove(&key),
        count => counts.insert(key, count),
    };
}

impl World {
    /// The subjects whose rows the last record changed, by what it touched.
    pub fn shown_anew(&self, touched: &Touched) -> impl Iterator<Item = Subject> {
        let (subject, clocks) = match touched {
            Touched::Nothing => (None, None),
            Touched::Subject(subject) => (Some(*subject), None),
            Touched::EveryClock => (None, Some(self.moving())),
        };
        let rounds = self.rounds_moved().iter().copied().map(Subject::Round);
        // Nothing that moves is shown of a subject that is over.
        let clocks = clocks.into_iter().flatten();
        let clocks = clocks.filter(|subject| self.is_live(*subject));
        subject.into_iter().chain(rounds).chain(clocks)
    }

    /// True if the subject is live: its state can change, or a notice about it is owed.
    pub fn is_live(&self, subject: Subject) -> bool {
        self.opened_at(subject).is_some()
    }

    /// Takes a record of a subject in, and what is kept of some machines in addition.
    pub(super) fn apply_to(&mut self, subject: Subject, step: &Applying<'_>) -> Result<(), Fault> {
        match subject {
            Subject::Interaction(id) => self.apply_interaction(step, id),
            Subject::Contract(id) => self.apply_subject::<Contract>(step, id),
            Subject::Descriptor(did) => self.apply_subject::<Descriptor>(step, did),
            Subject::Session(id) => self.apply_subject::<Session>(step, id),
            Subject::Agreement(id) => self.apply_subject::<Agreement>(step, id),
            Subject::Conduct(did) => self.apply_conduct(step, did),
            Subject::Round(id) => self.apply_round(step, id),
        }
    }

    /// Takes a record of one of a machine's subjects in.
    pub(super) fn apply_subject<M: HeldMachine>(
        &mut self,
        step: &Applying<'_>,
        id: M::Id,
    ) -> Result<(), Fault> {
        let (before, live) = self.evolved::<M>(step, id)?;
        self.replace_subject::<M>(id, before.as_deref(), live);
        Ok(())
    }

    /// A subject before a record of it and after. All that can be refused is refused here, and of the world
    /// only the notices owed have changed then.
    pub(super) fn evolved<M: HeldMachine>(
        &mut self,
        step: &Applying<'_>,
        id: M::Id,
    ) -> Result<Evolved<M>, Fault> {
        let before = M::of(self).held(id).cloned();
        let parameters = self.opening_parameters(step)?;
        let recorded = Recorded {
            event: step.event,
            position: step.position,
            hash: step.hash,
            recorded_at_ms: step.at,
            parameters: parameters.as_ref(),
        };
        let state = M::evolve(before.as_ref().map(|live| live.state.clone()), &recorded)?;
        if M::id(&state) != id {
            return Err(step.misplaced("the stream is named by the message that opened it"));
        }
        let told = before
            .as_ref()
            .and_then(|before| M::told(&before.state, step.event, &state));
        let mut live = match &before {
            Some(live) => live.beside(state),
            None => Live::opened(state, step),
        };
        live.note(step);
        // Of many members a list is made only where somebody is told.
        let parties = match told {
            Some(_) => self.notified::<M>(id, &live.state),
            None => Vec::new(),
        };
        self.settle_notices(step, M::subject(id), told, &parties, &mut live.notices_owed)?;
        Ok((before, live))
    }

    /// To whom notices of a subject are addressed: its members, and of a round the ledger itself, which
    /// all members read (machines.md section 8).
    fn notified<M: HeldMachine>(&self, id: M::Id, state: &M::State) -> Vec<Did> {
        match M::subject(id) {
            Subject::Round(_) => self.identity.iter().map(|ledger| ledger.did).collect(),
            Subject::Interaction(_)
            | Subject::Contract(_)
            | Subject::Descriptor(_)
            | Subject::Session(_)
            | Subject::Agreement(_)
            | Subject::Conduct(_) => M::members(state),
        }
    }

    /// Puts `live` in place of `before`. Once it is over and nobody is owed anything, it is held only while
    /// its transactions are watched.
    pub(super) fn replace_subject<M: HeldMachine>(
        &mut self,
        id: M::Id,
        before: Option<&Live<M::State>>,
        live: Live<M::State>,
    ) {
        let is_over = |live: &Live<M::State>| M::is_terminal(&live.state) && live.notices_owed == 0;
        let (was_over, is_over) = (before.is_some_and(is_over), is_over(&live));
        let paid = M::subject_state(&live.state).paid();
        let is_held = !is_over || paid.and_then(Interaction::aftermath).is_some();
        let before = before.map(|before| &before.state);
        self.reindex::<M>(id, before, Some(&live.state).filter(|_| is_held));
        let held = M::of_mut(self);
        held.count(before, Some(&live.state));
        if was_over != is_over || !is_held {
            held.place(was_over).remove(&id);
        }
        if is_held {
            held.place(is_over).insert(id, Arc::new(live));
        } else {
            held.ended = Some((id, Arc::new(live)));
        }
    }

    /// Looks a subject up by what it is `after` a record, and no longer by what it was `before`.
    pub(super) fn reindex<M: HeldMachine>(
        &mut self,
        id: M::Id,
        before: Option<&M::State>,
        after: Option<&M::State>,
    ) {
        let states = [before, after];
        let deadlines = states.map(|state| state.and_then(M::deadline).into_iter());
        put_in_place(&mut self.deadlines, M::subject(id), deadlines);
        let moving = &mut M::of_mut(self).moving;
        let [was_moving, is_moving] = states.map(|state| state.is_some_and(M::moves_with_downtime));
        if is_moving && !was_moving {
            moving.insert(id);
        } else if was_moving && !is_moving {
            moving.remove(&id);
        }
        let [before, after] = states.map(|state| state.map(M::subject_state)?.paid());
        self.reindex_payment(before, after);
    }

    /// Changes the states of subjects that no record of theirs changes.
    pub(super) fn change_states<M: HeldMachine>(
        &mut self,
        ids: impl IntoIterator<Item = M::Id>,
        change: impl Fn(M::State) -> M::State,
    ) {
        for id in ids {
            if let Some(before) = M::of(self).held(id).cloned() {
                let live = before.beside(change(before.state.clone()));
                self.replace_subject::<M>(id, Some(&before), live);
            }
        }
    }

    /// Moves the windows that the ledger was away for; what waits for a signed moment is not looked at.
    fn move_windows<M: HeldMachine>(&mut self, gap_ms: u64, back_at: TimestampMs) {
        let moved = |state| M::after_downtime(state, gap_ms, back_at);
        let held = M::of(self);
        debug_assert!(held.all_held().all(|(id, live)| {
            held.moving.contains(id) || moved(live.state.clone()) == live.state
        }));
        let moving = held.moving.clone();
        self.change_states::<M>(moving, moved);
    }

    /// Puts a subject back that a snapshot holds; its parameters were found.
    pub(super) fn put_subject_back<M: HeldMachine>(
        &mut self,
        id: M::Id,
        parameters: Arc<Parameters>,
        live: Live<M::State>,
    ) {
        let state = M::with_parameters(live.state, parameters);
        self.replace_subject::<M>(id, None, Live { state, ..live });
    }
}

#[cfg(test)]
mod tests;
