//! Rounds over HTTP: who reads one, and that nobody reads votes before they are counted.

use crate::log::{checkpoint, covered_as};
use crate::world::{Agent, World};
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::id::RoundId;
use x811_protocol::jws;
use x811_protocol::key::KeyId;
use x811_protocol::parameters::Rounds;
use x811_protocol::round::{Opened, commitment};
use x811_protocol::stream::Subject;
use x811_server::LogReaders;

/// 16 bytes that nothing else has.
const SALT: &str = "QUJDREVGR0hJSktMTU5PUA";

/// A ledger that runs rounds and serves signed reads alone, three who take part, and others.
pub(crate) struct Table {
    pub(crate) world: World,
    pub(crate) members: Vec<Agent>,
    pub(crate) stranger: Agent,
    pub(crate) auditor: Agent,
    pub(crate) round: Option<RoundId>,
    pub(crate) proposal_hash: Digest,
}

impl Table {
    async fn set() -> Table {
        Table::under(Rounds::DEFAULT).await
    }

    pub(crate) async fn under(block: Rounds) -> Table {
        Table::set_with(block, LogReaders::default()).await
    }

    async fn set_with(block: Rounds, log_readers: LogReaders) -> Table {
        let auditor = Agent::new();
        let world = World::start_with(|config| {
            config.open_reads = false;
            config.auditors = vec![auditor.did];
            config.rounds = Some(block);
            config.log_readers = log_readers;
        })
        .await;
        world.accept(&auditor.registration(&world)).await;
        let mut members = Vec::new();
        for _ in 0..3 {
            let agent = Agent::new();
            let mut payload = agent.registration_payload(&world);
            payload["capabilities"] = json!(["x811.consensus"]);
            let kind = "x811.registry/register";
            world
                .accept(&agent.say(&world, world.ledger(), kind, payload))
                .await;
            members.push(agent);
        }
        let stranger = world.agent().await;
        Table {
            world,
            members,
            stranger,
            auditor,
            round: None,
            proposal_hash: Digest::ZERO,
        }
    }

    pub(crate) fn seal(&self, from: &Agent, verb: Verb, payload: Value) -> SealedEnvelope {
        let header = from.header(&self.world, self.world.ledger(), verb.as_str());
        from.say_as(header, signed(from, verb, payload))
    }

    pub(crate) async fn propose(&mut self, change: impl FnOnce(&mut Value)) {
        let from = &self.members[0];
        let header = from.header(&self.world, self.world.ledger(), Verb::Propose.as_str());
        let participants: Vec<_> = self.members.iter().map(|agent| agent.did).collect();
        let mut payload = json!({
            "proposal_id": header.id, "consensus_round_id": header.id, "proposer": from.did,
            "mechanism": "majority", "subject": "Move to the second link",
            "action": { "type": "com.example.route", "risk": "low", "reversible": true },
            "timeout": header.created_ms.saturating_add_ms(60_000).to_rfc3339(), "quorum": 2,
            "leader": self.world.ledger(), "participants": participants,
        });
        change(&mut payload);
        self.round = Some(header.id.into());
        self.proposal_hash = Digest::of(&to_canonical(&payload));
        let sealed = from.say_as(header, signed(from, Verb::Propose, payload));
        let accepted = self.world.accept(&sealed).await;
        assert_eq!(accepted["subject"]["kind"], "round");
    }

    pub(crate) fn vote(&self, from: usize, said: &Value) -> SealedEnvelope {
        let agent = &self.members[from];
        let now = x811_ledger::clock::Clock::wall(&*self.world.clock);
        let mut payload = json!({
            "proposal_id": self.round, "consensus_round_id": self.round,
            "proposal_hash": self.proposal_hash, "voter": agent.did,
            "timestamp": now.to_rfc3339(),
        });
        for (name, value) in said.as_object().unwrap() {
            payload[name] = value.clone();
        }
        self.seal(agent, Verb::Vote, payload)
    }

    pub(crate) fn path(&self, part: &str) -> String {
        format!("/api/v1/rounds/{}{part}", self.round.unwrap())
    }

    /// Waits until the first member reads that status.
    pub(crate) async fn until(&self, status: &str) {
        loop {
            let round = self.world.get_as(&self.members[0], &self.path("")).await;
            if round.expect(200)["status"] == status {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Everything that an agent, an auditor or nobody in particular may ask for.
    fn every_read(&self, positions: &[u64]) -> Vec<String> {
        let mut paths: Vec<String> = ["", "/history", "/bundle"]
            .map(|part| self.path(part))
            .into();
        let proofs = positions
            .iter()
            .map(|at| format!("/api/v1/records/{at}/proof"));
        paths.extend(proofs);
        for agent in self.members.iter().chain([&self.stranger, &self.auditor]) {
            let uuid = agent.uuid();
            paths.push(format!("/api/v1/messages/{uuid}"));
            paths.push(format!("/api/v1/agents/{uuid}/status"));
            paths.push(format!("/api/v1/agents/{uuid}/trust"));
            paths.push(format!("/api/v1/agents/{uuid}"));
        }
        let round = self.round.unwrap();
        paths.push(format!("/api/v1/traces/{round}"));
        paths.push(format!("/api/v1/escalations/{round}"));
        paths.push(format!("/api/v1/messages/by-id/{round}"));
        let ledger = self.world.ledger().uuid();
        paths.push(format!("/api/v1/messages/{ledger}"));
        for public in [
            "/api/v1/agents",
            "/api/v1/interactions",
            "/api/v1/rounds",
            "/api/v1/escalations",
            "/api/v1/sessions",
            "/api/v1/agreements",
            "/api/v1/negotiations",
            "/log/tile/entries/000",
            "/log/tile/0/000",
            "/log/checkpoint",
            "/.well-known/x811.json",
        ] {
            paths.push(public.to_owned());
        }
        paths
    }
}

pub(crate) fn signed(from: &Agent, verb: Verb, mut payload: Value) -> Value {
    let kid = KeyId {
        did: from.did,
        key: from.key.public(),
    };
    let object = payload.as_object().unwrap();
    let signature = jws::sign_object(&from.key, &kid, verb.jws_type(), object);
    payload[jws::MEMBER] = signature.into();
    payload
}

fn position(accepted: &Value) -> u64 {
    accepted["position"].as_u64().unwrap()
}

/// Attack by members, auditors and strangers: a reveal is read at some endpoint before the tally, so that
/// who votes last knows the others.
#[tokio::test]
async fn cc_115_and_cx_51_a_sealed_vote_is_shown_by_no_endpoint_before_the_tally() {
    let mut table = Table::set().await;
    table.propose(|it| it["voting"] = json!("sealed")).await;
    let round = table.round.unwrap();
    let (mut positions, mut voted_at) = (Vec::new(), Vec::new());
    let mut hidden = vec![SALT.to_owned()];
    for from in 0..3 {
        let opened = Opened {
            decision: Decision::Approve,
            proposal_id: round,
            rationale: None,
            round,
            salt: SALT,
            voter: table.members[from].did,
        };
        let vote = table.vote(from, &json!({ "commitment": commitment(&opened) }));
        let body: Value = serde_json::from_slice(&vote.json).unwrap();
        voted_at.push(body["payload"]["timestamp"].clone());
        positions.push(position(&table.world.accept(&vote).await));
        hidden.push(vote.header.id.to_string());
    }
    table.world.clock.advance_ms(60_001);
    table.until("revealing").await;
    let mut last = 0;
    for (from, at) in voted_at.iter().enumerate().take(2) {
        let agent = &table.members[from];
        let reveal = json!({
            "proposal_id": round, "consensus_round_id": round, "voter": agent.did, "salt": SALT,
            "decision": "approve", "timestamp": at,
        });
        let reveal = table.seal(agent, Verb::Reveal, reveal);
        last = position(&table.world.accept(&reveal).await);
        positions.push(last);
        hidden.push(reveal.header.id.to_string());
    }
    let _ = table
        .world
        .get_as(
            &table.members[0],
            &table.path(&format!("?min_position={last}")),
        )
        .await;
    let readers = table
        .members
        .iter()
        .chain([&table.stranger, &table.auditor]);
    for reader in readers {
        for path in table.every_read(&positions) {
            let answers = [
                table.world.get_as(reader, &path).await,
                table.world.get(&path).await,
            ];
            for answer in answers {
                for secret in &hidden {
                    assert!(!answer.text.contains(secret), "{path}: {}", answer.text);
                }
            }
        }
    }
    table.world.clock.advance_ms(10_001);
    table.until("committed").await;
    checkpoint(&table.world).await;
    let path = table.path("/history");
    let history = table.world.get_as(&table.members[2], &path).await;
    assert!(history.text.contains(&hidden[4]), "{}", history.text);
    for reader in [&table.members[1], &table.auditor] {
        let bundle = covered_as(&table.world, reader, &table.path("/bundle")).await;
        assert_eq!(bundle.status, 200, "{}", bundle.text);
        let report = audit_export(bundle.text.as_bytes(), None).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let of = report.extract.unwrap().subject();
        assert_eq!(of, Some(Subject::Round(round)));
    }
}

/// Where the log is everybody's, a commitment says nothing to anybody, and a reveal is shown by no endpoint
/// while others may still reveal or not: leaves up to it are, and all of them once the round is decided.
#[tokio::test]
async fn cx_51_a_public_log_shows_no_sealed_vote_before_it_is_revealed() {
    let mut table = Table::set_with(Rounds::DEFAULT, LogReaders::Public).await;
    let sealed = |it: &mut Value| {
        it["voting"] = json!("sealed");
        it["reveal_ms"] = json!(60_000);
    };
    table.propose(sealed).await;
    let round = table.round.unwrap();
    let (mut positions, mut voted_at) = (Vec::new(), Vec::new());
    for from in 0..3 {
        let opened = Opened {
            decision: Decision::Approve,
            proposal_id: round,
            rationale: None,
            round,
            salt: SALT,
            voter: table.members[from].did,
        };
        let vote = table.vote(from, &json!({ "commitment": commitment(&opened) }));
        let body: Value = serde_json::from_slice(&vote.json).unwrap();
        voted_at.push(body["payload"]["timestamp"].clone());
        positions.push(position(&table.world.accept(&vote).await));
    }
    covered(&table).await;
    let says = |text: &str| [SALT, "approve"].iter().any(|word| text.contains(word));
    let told = tellers(&table, &positions, says).await;
    assert!(told.is_empty(), "{told:?}");
    let leaves = table.world.get(&whole_log(&table).await).await;
    assert_eq!(leaves.status, 200, "anybody reads it: {}", leaves.text);

    table.world.clock.advance_ms(60_001);
    table.until("revealing").await;
    let reveal = json!({
        "proposal_id": round, "consensus_round_id": round, "voter": table.members[0].did,
        "salt": SALT, "decision": "approve", "timestamp": voted_at[0],
    });
    let reveal = table.seal(&table.members[0], Verb::Reveal, reveal);
    positions.push(position(&table.world.accept(&reveal).await));
    covered(&table).await;
    let told = tellers(&table, &positions, says).await;
    assert!(told.is_empty(), "{told:?}");
    let log = whole_log(&table).await;
    let hidden = table.world.get(&log).await;
    hidden.refused(422, "CCN-4012");
    let first = positions.last().unwrap();
    let before = table
        .world
        .get(&format!("/log/tile/entries/000.p/{first}"))
        .await;
    assert_eq!(before.status, 200, "up to the reveal: {}", before.text);
    table.world.clock.advance_ms(60_001);
    table.until("failed").await;
    let shown = table.world.get(&log).await;
    assert!(shown.text.contains("approve"), "{}", shown.text);
}

/// Attack: a proposal with a week for reveals holds up nobody who reads the log; its reveals are public.
#[tokio::test]
async fn cx_51_a_long_window_for_reveals_keeps_no_log_back() {
    let mut table = Table::set_with(Rounds::DEFAULT, LogReaders::Public).await;
    table
        .propose(|it| {
            it["voting"] = json!("sealed");
            it["reveal_ms"] = json!(60_001);
        })
        .await;
    let round = table.round.unwrap();
    let opened = Opened {
        decision: Decision::Approve,
        proposal_id: round,
        rationale: None,
        round,
        salt: SALT,
        voter: table.members[0].did,
    };
    let vote = table.vote(0, &json!({ "commitment": commitment(&opened) }));
    let body: Value = serde_json::from_slice(&vote.json).unwrap();
    table.world.accept(&vote).await;
    let other = Opened {
        voter: table.members[1].did,
        ..opened
    };
    let vote = table.vote(1, &json!({ "commitment": commitment(&other) }));
    table.world.accept(&vote).await;
    table.world.clock.advance_ms(60_001);
    table.until("revealing").await;
    let reveal = json!({
        "proposal_id": round, "consensus_round_id": round, "voter": table.members[0].did,
        "salt": SALT, "decision": "approve", "timestamp": body["payload"]["timestamp"],
    });
    let reveal = table.seal(&table.members[0], Verb::Reveal, reveal);
    table.world.accept(&reveal).await;
    covered(&table).await;
    let log = table.world.get(&whole_log(&table).await).await;
    assert_eq!(log.status, 200, "{}", log.text);
}

/// Has a checkpoint signed over all that is there, and moves the clock by little: helpers that wait for one
/// move it until there is one.
async fn covered(table: &Table) {
    let size = table.world.get("/ready").await.json()["size"].as_u64();
    table.world.clock.advance_ms(1_001);
    loop {
        let answer = table.world.get("/log/checkpoint").await;
        let signed = answer
            .text
            .lines()
            .nth(1)
            .and_then(|line| line.parse().ok());
        if answer.status == 200 && signed >= size {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Where all leaves under the last checkpoint are read.
async fn whole_log(table: &Table) -> String {
    let checkpoint = table.world.get("/log/checkpoint").await;
    let size = checkpoint.text.lines().nth(1).unwrap().to_owned();
    format!("/log/tile/entries/000.p/{size}")
}

/// Paths at which anybody at all reads something that `says`.
async fn tellers(table: &Table, positions: &[u64], says: impl Fn(&str) -> bool) -> Vec<String> {
    let mut told = Vec::new();
    let log = whole_log(table).await;
    let readers = table
        .members
        .iter()
        .chain([&table.stranger, &table.auditor]);
    for reader in readers {
        let paths = table.every_read(positions).into_iter();
        for path in paths.chain([log.clone()]) {
            let answers = [
                table.world.get_as(reader, &path).await,
                table.world.get(&path).await,
            ];
            if answers.iter().any(|answer| says(&answer.text)) {
                told.push(path);
            }
        }
    }
    told
}

#[tokio::test]
async fn cc_022_a_round_is_its_members_business() {
    let mut table = Table::set().await;
    table.propose(|_| {}).await;
    let said = |decision: &str| json!({ "decision": decision, "rationale": "as I see it" });
    let first = table.vote(1, &said("approve"));
    let first = table.world.accept(&first).await;
    let second = table.world.accept(&table.vote(1, &said("reject"))).await;
    assert_eq!(second["counted"], false);
    assert_eq!(second["code"], "CCN-4005");
    let again = table.world.post(table.vote(1, &said("approve")).json).await;
    assert_eq!(again.expect(200)["position"], first["position"]);
    let third = table.world.post(table.vote(1, &said("abstain")).json).await;
    third.refused(409, "CCN-4005");

    let members = &table.members;
    for reader in members.iter().chain([&table.auditor]) {
        let round = table
            .world
            .get_as(reader, &table.path(""))
            .await
            .expect(200);
        assert_eq!(round["status"], "open");
        assert_eq!(round["voted"], json!([members[1].did]));
        assert!(round.get("outcome").is_none());
        let history = table.world.get_as(reader, &table.path("/history")).await;
        let shown = history.expect(200);
        let records = shown["records"].as_array().unwrap().iter();
        let is_notice = |record: &&Value| record.to_string().contains("notice_issued");
        let said = records.filter(|record| !is_notice(record)).count();
        assert_eq!(said, 3, "proposal, opening, finding: {shown}");
        let bundle = covered_as(&table.world, reader, &table.path("/bundle")).await;
        bundle.refused(422, "CCN-4012");
    }
    for part in ["", "/history", "/bundle"] {
        let answer = table.world.get_as(&table.stranger, &table.path(part)).await;
        answer.refused(404, "X811-4001");
        let nobody = table.world.get(&table.path(part)).await;
        nobody.refused(401, "X811-2004");
        let unknown = format!(
            "/api/v1/rounds/{}{part}",
            first["envelope_id"].as_str().unwrap()
        );
        let answer = table.world.get_as(&members[0], &unknown).await;
        answer.refused(404, "X811-4001");
    }
    for from in [0, 2] {
        table
            .world
            .accept(&table.vote(from, &said("approve")))
            .await;
    }
    table.until("committed").await;
    let round = table
        .world
        .get_as(&members[0], &table.path(""))
        .await
        .expect(200);
    assert_eq!(round["outcome"]["outcome"], "commit");
    assert_eq!(round["outcome"]["approve"], 3);
}

/// Attack: a member that wants to read what was voted in an open round names it in one of its own, and takes
/// that one back.
#[tokio::test]
async fn cx_51_no_bundle_of_another_round_shows_votes_of_an_open_one() {
    let mut table = Table::set().await;
    table.propose(|_| {}).await;
    let open = table.round.unwrap();
    let ballot = json!({ "decision": "reject", "rationale": "as I see it" });
    table.world.accept(&table.vote(1, &ballot)).await;
    table
        .propose(|payload| payload["blocked_by"] = json!([open]))
        .await;
    let of = json!({ "proposal_id": table.round, "consensus_round_id": table.round });
    let withdrawal = table.seal(&table.members[0], Verb::Withdraw, of);
    table.world.accept(&withdrawal).await;
    table.until("aborted").await;
    covered(&table).await;
    for reader in table.members.iter().chain([&table.auditor]) {
        let bundle = covered_as(&table.world, reader, &table.path("/bundle")).await;
        bundle.refused(422, "CCN-4012");
    }
}
