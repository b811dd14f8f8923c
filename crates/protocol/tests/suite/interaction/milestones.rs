//! Real histories that lead to every state.

use x811_protocol::envelope::CoreType;
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::EnvelopeId;
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use super::chain::{Chain, DEPTH, PAYEE, PAYER, transfers, tx};
use super::messages::{Message, TOTAL};
use super::world::{Outcome, Stream, World};

impl World {
    /// A world with one interaction in that state.
    pub(crate) fn at(name: StateName) -> World {
        let mut world = World::new();
        world.bring(name);
        world
    }

    /// A world with one interaction whose payment by transaction 1 is being watched.
    pub(crate) fn watching() -> World {
        let mut world = World::at(StateName::Verified);
        world.pay(0, 1);
        world
    }

    /// A world with one interaction whose confirmation window has passed.
    pub(crate) fn looking() -> World {
        let mut world = World::watching();
        world.advance_ms(30_001);
        world.tick(0);
        world
    }

    /// Opens one more interaction and takes it to that state; its number.
    pub(crate) fn bring(&mut self, name: StateName) -> usize {
        let number = self.open();
        match name {
            StateName::Pending => {}
            StateName::Offered => self.walk(number, &[CoreType::Offer]),
            StateName::Accepted => self.walk(number, &[CoreType::Offer, CoreType::Accept]),
            StateName::Rejected => self.walk(number, &[CoreType::Offer, CoreType::Reject]),
            StateName::Delivered => self.deliver(number),
            StateName::Verified => self.verify(number),
            StateName::Expired => {
                self.advance_ms(60_001);
                self.tick(number);
            }
            StateName::Failed => {
                self.deliver(number);
                self.advance_ms(30_001);
                self.tick(number);
            }
            StateName::Disputed => {
                self.deliver(number);
                let dispute = self.draft_dispute(number);
                self.send_ok(number, &dispute);
            }
            StateName::Completed => {
                self.verify(number);
                self.complete(number, 100 + u8::try_from(number).unwrap());
            }
        }
        assert_eq!(self.name(number), name);
        number
    }

    /// Opens one more interaction; its number.
    pub(crate) fn open(&mut self) -> usize {
        let number = self.add_stream();
        let request = self.draft(number, CoreType::Request);
        self.send_ok(number, &request);
        number
    }

    /// One more interaction that has not begun; its number.
    pub(crate) fn add_stream(&mut self) -> usize {
        let unknown = EnvelopeId::from_parts(self.now.as_ms(), &[0xee; 10]);
        let stream = Stream {
            state: None,
            request_id: unknown,
            offer_id: unknown,
        };
        self.streams.push(stream);
        self.streams.len() - 1
    }

    /// Sends a message that must be accepted.
    pub(crate) fn send_ok(&mut self, number: usize, message: &Message) -> Outcome {
        let outcome = self.send(number, message);
        assert_eq!(outcome.code(), None, "{:?}", outcome);
        outcome
    }

    /// Sends the fitting messages one after the other.
    pub(crate) fn walk(&mut self, number: usize, kinds: &[CoreType]) {
        for kind in kinds {
            let message = self.draft(number, *kind);
            self.send_ok(number, &message);
        }
    }

    /// From `pending` to `delivered`.
    pub(crate) fn deliver(&mut self, number: usize) {
        self.walk(
            number,
            &[CoreType::Offer, CoreType::Accept, CoreType::Result],
        );
    }

    /// From `pending` to `verified`.
    pub(crate) fn verify(&mut self, number: usize) {
        self.deliver(number);
        self.walk(number, &[CoreType::Verify]);
    }

    /// Declares a transaction as payment.
    pub(crate) fn pay(&mut self, number: usize, tx_hash: u8) -> Outcome {
        let payment = self.draft_payment(number, tx_hash, None);
        self.send_ok(number, &payment)
    }

    /// Declares a transaction that pays the whole and waits until it is confirmed.
    pub(crate) fn complete(&mut self, number: usize, tx_hash: u8) {
        self.pay(number, tx_hash);
        let block = self.mine_next(tx_hash, &[(PAYER, PAYEE, TOTAL)]);
        self.until_block(block + DEPTH - 1);
        self.sweep(number);
    }

    /// Height of the block after the head.
    pub(crate) fn next_block(&self) -> u64 {
        Chain::head_number(self.now) + 1
    }

    /// Transaction 1, declared, with these transfers in the next block and deep enough.
    pub(crate) fn paid_by(rows: &[(EvmAddress, EvmAddress, u64)]) -> (World, Outcome) {
        let mut world = World::watching();
        let block = world.mine_next(1, rows);
        let outcome = world.deep(0, block);
        (world, outcome)
    }

    /// Waits until what is in that block is deep enough, and looks.
    pub(crate) fn deep(&mut self, number: usize, block: u64) -> Outcome {
        self.until_block(block + DEPTH - 1);
        self.sweep(number)
    }

    /// That block has that transaction, of these transfers.
    pub(crate) fn mine(&mut self, number: u8, block: u64, rows: &[(EvmAddress, EvmAddress, u64)]) {
        self.chain.mine(tx(number), block, transfers(rows));
    }

    /// The next block has it, which is told.
    pub(crate) fn mine_next(&mut self, number: u8, rows: &[(EvmAddress, EvmAddress, u64)]) -> u64 {
        let block = self.next_block();
        self.mine(number, block, rows);
        block
    }

    /// Lets time pass until that block is the head.
    pub(crate) fn until_block(&mut self, number: u64) {
        let at = TimestampMs::new(Chain::block(number).timestamp_s * 1_000);
        assert!(at >= self.now, "block {number} is past");
        self.now = at;
    }
}
