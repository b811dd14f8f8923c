use super::{HeldMachine, Subjects};
use crate::World;
use std::collections::BTreeSet;
use x811_protocol::machine::Machine;
use x811_protocol::stream::{Stream, Subject};

const UUID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const DID: &str = "did:x811:01890a5d-ac96-774b-bcce-b302099a8057";

/// Some id of that machine: of a message, or of an agent.
fn some_id<M: Machine>() -> M::Id {
    let read = |text: &str| serde_json::from_value(text.into());
    read(UUID).or_else(|_| read(DID)).unwrap()
}

/// Asks an empty world for a subject of that machine, by its type and by its name.
fn assert_absent<M: HeldMachine>(world: &World) {
    let (id, subject) = (some_id::<M>(), M::subject(some_id::<M>()));
    assert_eq!(M::state(world, id), None);
    assert_eq!(M::latest(world, id), None);
    assert!(world.machines::<M>().is_some(), "found by its type");
    assert!(world.latest_state(subject).is_none());
    assert_eq!(world.deadline_of(subject), None);
    assert_eq!(world.opened_at(subject), None);
    assert_eq!(world.next_seq_of(subject), 0);
}

macro_rules! lines {
    ($($held:ident: $subject:ident($machine:ty), $kind:literal;)+) => {
        #[test]
        fn design_6_a_line_names_one_machine_in_every_form() {
            let world = World::default();
            let mut subjects = BTreeSet::new();
            $(
                let subject = Subject::$subject(some_id::<$machine>());
                assert_eq!(<$machine>::subject(some_id::<$machine>()), subject);
                assert_eq!(subject.kind(), $kind);
                assert_eq!(subject.to_string().parse(), Ok(subject));
                assert_eq!(Subject::from_uuid($kind, subject.uuid()), Some(subject));
                assert_eq!(Stream::Of(subject).to_string().parse(), Ok(Stream::Of(subject)));
                assert_absent::<$machine>(&world);
                subjects.insert(subject.to_string());
            )+
            assert_eq!(subjects.len(), Subjects::KINDS.len());
        }
    };
}
for_each_machine!(lines);
