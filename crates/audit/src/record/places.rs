//! What is kept of each record by its position: twelve bytes, however many there are.

use std::collections::BTreeMap;

use x811_protocol::key::Profile;

use x811_protocol::stream::Subject;

use crate::record::numbered::Number;

/// Places of a block: few, as a bundle of one interaction has records here and there, and a hostile file
/// as well.
const BLOCK: u64 = 16;

/// What is kept of the records so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// By the first position, divided by [`BLOCK`].
    blocks: BTreeMap<u64, Box<[RowPlace; BLOCK as usize]>>,
}

/// What is kept of one record.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowPlace {
    /// There is a record.
    pub(crate) is_held: bool,
    /// The subject in whose stream it is.
    pub(crate) subject: Option<Number>,
    /// To whom it was delivered.
    pub(crate) recipient: Option<Number>,
    /// The body, if it may be erased.
    pub(crate) body: Option<Body>,
}

/// A body that may be erased.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    pub(crate) profile: Profile,
    pub(crate) is_there: bool,
}

/// Positions by some number, those of each in order.
#[derive(Debug)]
pub struct Lists {
    /// Where the list of each begins, and where the last ends.
    starts: Vec<usize>,
    positions: Vec<u64>,
}

impl Places {
    /// Notes what is there. Of several records of one position, which only a damaged log has, the
    /// first stays, or the last with a body that may be erased.
    pub(crate) fn note(&mut self, position: u64, place: RowPlace) {
        let block = self.blocks.entry(position / BLOCK);
        let block = block.or_insert_with(|| Box::new([RowPlace::default(); BLOCK as usize]));
        let noted = &mut block[offset(position)];
        if !noted.is_held || place.body.is_some() {
            *noted = place;
        }
    }

    /// What is there.
    pub(crate) fn at(&self, position: u64) -> RowPlace {
        let block = self.blocks.get(&(position / BLOCK));
        block.map_or_else(RowPlace::default, |block| block[offset(position)])
    }

    /// Positions before `until`, by the number that `of` gives, which is one of the first `count`.
    pub(crate) fn lists(
        &self,
        until: u64,
        count: usize,
        of: impl Fn(&RowPlace) -> Option<Number>,
    ) -> Lists {
        let mut ends = vec![0; count + 1];
        for (_, number) in self.numbers(until, &of) {
            ends[number.index()] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        // From the last to the first, each end moves down to where its list begins.
        let (mut starts, mut positions) = (ends, vec![0; total]);
        for (position, number) in self.numbers(until, &of).rev() {
            let place = &mut starts[number.index()];
            *place -= 1;
            positions[*place] = position;
        }
        Lists { starts, positions }
    }

    fn numbers(
        &self,
        until: u64,
        of: impl Fn(&RowPlace) -> Option<Number>,
    ) -> impl DoubleEndedIterator<Item = (u64, Number)> {
        let places = self.blocks.iter().flat_map(|(block, places)| {
            let first = block * BLOCK;
            let places = places.iter().enumerate();
            places.map(move |(offset, place)| (first + offset as u64, place))
        });
        places
            .filter(move |(position, _)| *position < until)
            .filter_map(move |(position, place)| Some((position, of(place)?)))
    }
}

impl Lists {
    /// The positions of that number.
    pub fn of(&self, number: Number) -> &[u64] {
        let index = number.index();
        &self.positions[self.starts[index]..self.starts[index + 1]]
    }
}

/// Where it is in its block.
fn offset(position: u64) -> usize {
    (position % BLOCK) as usize
}

/// A REQUEST, a RESULT, or a message of a negotiation, of a session or about an agreement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Erasable {
    pub(crate) subject: Subject,
    pub(crate) body: Body,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::numbered::{Keyed, Numbered};
    use super::*;

    /// How many numbers there are.
    const NUMBERS: u8 = 6;

    impl Keyed for u8 {
        type Key = u8;

        fn key(&self) -> &u8 {
            self
        }
    }

    fn numbers() -> Vec<Number> {
        let mut numbered = Numbered::default();
        let numbers = (0..NUMBERS).map(|number| numbered.enter(number).number);
        numbers.collect()
    }

    proptest! {
        #[test]
        fn lists_have_what_was_noted_before_their_end(
            steps in prop::collection::vec((1_u64..200, prop::option::of(0..NUMBERS)), 0..300),
            until in 0_u64..20_000,
        ) {
            let numbers = numbers();
            let (mut places, mut expected) = (Places::default(), vec![vec![]; numbers.len()]);
            let mut position = 0;
            for (step, recipient) in steps {
                position += step;
                let recipient = recipient.map(usize::from);
                let place = RowPlace {
                    is_held: true,
                    recipient: recipient.map(|recipient| numbers[recipient]),
                    ..RowPlace::default()
                };
                places.note(position, place);
                prop_assert!(places.at(position).is_held);
                if let Some(recipient) = recipient && position < until {
                    expected[recipient].push(position);
                }
            }
            let lists = places.lists(until, numbers.len(), |place| place.recipient);
            for (number, expected) in numbers.iter().zip(&expected) {
                prop_assert_eq!(lists.of(*number), expected.as_slice());
            }
        }
    }

    #[test]
    fn of_records_of_one_position_the_one_with_a_body_stays() {
        let place = |number: usize, body| RowPlace {
            is_held: true,
            subject: Some(numbers()[number]),
            recipient: None,
            body,
        };
        let body = Body {
            profile: Profile::Digest,
            is_there: true,
        };
        let mut places = Places::default();
        places.note(7, place(0, None));
        places.note(7, place(1, None));
        assert_eq!(places.at(7).subject, Some(numbers()[0]));
        places.note(7, place(2, Some(body)));
        places.note(7, place(3, None));
        assert_eq!(places.at(7).subject, Some(numbers()[2]));
        assert!(!places.at(6).is_held && !places.at(7 + BLOCK).is_held);
    }
}
