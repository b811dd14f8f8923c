//! Bundles of rounds that humans were asked about since the same voters were silent twice (round.md, "When it
//! is decided", rule 9). The round before need not be in the bundle. The operator gains by asking its humans
//! about a round whose retries are still to come, when it likes, and by not asking them at all.

use serde_json::json;
use tokio::sync::OnceCell;
use x811_audit::{Options, Outcome, Report, Unchecked, audit_export};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::id::RoundId;
use x811_protocol::parameters::Rounds;
use x811_protocol::stream::Subject;

use super::super::bundles::bundle_of;
use super::super::council::{Council, running};
use super::super::ledgerbox::Ledgerbox;
use super::super::rarer::quiet;
use super::Story;

/// How long votes are taken.
const LIFE_MS: u64 = 10_000;

/// How long a failed round may be retried, and humans are waited for.
const RETRY_MS: u64 = 15_000;
const HUMAN_MS: u64 = 20_000;

/// What the stories are about.
#[derive(Clone, Copy)]
enum About {
    /// The retry of a round for which the same voters were silent.
    Retry,
    /// A round of its own about the same resource, for which they were silent too.
    Third,
    /// One about no resource, escalated by its proposer.
    Alone,
}

/// A log, and the honest bundles of those.
#[derive(Clone)]
struct Silence {
    story: Story,
    bundles: [Vec<u8>; 3],
    rounds: [RoundId; 3],
    /// Who registered before each was decided, and has nothing to do with it.
    strangers: [u64; 3],
}

/// Gives the position of a stranger's registration.
async fn propose(
    ledgerbox: &Ledgerbox,
    council: &mut Council,
    of: About,
    failed: Option<RoundId>,
) -> u64 {
    let proposal = council.proposal(ledgerbox, LIFE_MS, |it| match of {
        About::Retry => {
            it["attempt"] = json!(if failed.is_some() { 2 } else { 1 });
            if let Some(failed) = failed {
                it["resubmission_of"] = json!(failed);
                let timeout = ledgerbox.now().saturating_add_ms(LIFE_MS + 5_000);
                it["timeout"] = json!(timeout.to_rfc3339());
            }
        }
        About::Third => it["action"]["to"] = json!("another link"),
        About::Alone => it["action"]["resource"] = json!([]),
    });
    ledgerbox.accept(&proposal).await;
    let stranger = ledgerbox.party();
    let registration = ledgerbox.registration(&stranger, &[], &[]);
    let registered = ledgerbox.accept(&registration).await;
    ledgerbox.watch_ms(LIFE_MS + 2_000).await;
    registered.position
}

async fn silence() -> Silence {
    let mut ledgerbox = running(Rounds {
        human_ms: HUMAN_MS,
        humans: vec![
            "did:x811:019c8c61-8129-7511-9f31-aa5142e65471"
                .parse()
                .unwrap(),
        ],
        resubmit_ms: RETRY_MS,
        retry_base_ms: 1_000,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 4).await;
    propose(&ledgerbox, &mut council, About::Retry, None).await;
    let failed = council.round;
    let of_retry = propose(&ledgerbox, &mut council, About::Retry, failed).await;
    ledgerbox.watch_ms(HUMAN_MS + 10_000).await;
    let retry = council.round.unwrap();
    let of_third = propose(&ledgerbox, &mut council, About::Third, None).await;
    ledgerbox.watch_ms(HUMAN_MS + 5_000).await;
    let third = council.round.unwrap();
    let of_alone = propose(&ledgerbox, &mut council, About::Alone, None).await;
    let plea = json!({ "reason": "time_critical" });
    council.say(&ledgerbox, 0, Verb::Escalate, plea).await;
    ledgerbox.watch_ms(HUMAN_MS + 5_000).await;
    let rounds = [retry, third, council.round.unwrap()];
    quiet(&mut ledgerbox).await;
    let mut bundles = [const { Vec::new() }; 3];
    for (bundle, round) in bundles.iter_mut().zip(rounds) {
        *bundle = bundle_of(&ledgerbox, Subject::Round(round)).await;
    }
    Silence {
        story: Story::written_by(&ledgerbox).await,
        bundles,
        rounds,
        strangers: [of_retry, of_third, of_alone],
    }
}

async fn honest() -> Silence {
    static WRITTEN: OnceCell<Silence> = OnceCell::const_new();
    WRITTEN.get_or_init(silence).await.clone()
}

impl Silence {
    fn stream(&self, about: About) -> String {
        format!("round:{}", self.rounds[about as usize])
    }

    /// The first event of that type in the round.
    fn event(&self, about: About, event_type: &str) -> u64 {
        let stream = self.stream(about);
        let is_one =
            |it: &super::super::log::Written| it.stream == stream && it.event_type() == event_type;
        self.story.names(is_one)[0]
    }

    /// The notice of the record of that name.
    fn notice(&self, cause: u64) -> u64 {
        let is_it = |it: &super::super::log::Written| {
            it.event_type() == "notice_issued" && it.event["cause"] == cause
        };
        self.story.names(is_it)[0]
    }

    fn lapse(&self, about: About, window: &str) -> u64 {
        let stream = self.stream(about);
        let is_it =
            |it: &super::super::log::Written| it.stream == stream && it.event["window"] == window;
        self.story.names(is_it)[0]
    }

    fn report(&self, about: About) -> Report {
        let bundle = self.story.bundle(&self.bundles[about as usize]);
        let options = Options {
            trust: Some(self.story.trusted().clone().into()),
            ..Options::default()
        };
        audit_export(&bundle[..], options).unwrap()
    }

    /// Whoever has nothing but the bundle finds it.
    #[track_caller]
    fn is_found(&self, about: About) {
        let report = self.report(about);
        assert_eq!(report.verdict, Outcome::Broken, "{:#?}", report.findings);
    }
}

/// What these bundles cannot show is said: that a round before failed for the same voters. It is counted where
/// another one about the same resource may have, and nowhere else.
#[tokio::test]
async fn cx_29_the_honest_bundles_hold_and_say_what_is_the_ledgers_word() {
    let silence = honest().await;
    assert_eq!(silence.story.report().findings, []);
    let reasons = [About::Retry, About::Third, About::Alone].map(|about| {
        let escalated = silence.event(about, "round_escalated");
        silence.story.get(escalated, "/reason")
    });
    assert_eq!(reasons, ["deadlock", "deadlock", "time_critical"]);
    for (about, word) in [(About::Retry, 1), (About::Third, 1), (About::Alone, 0)] {
        let report = silence.report(about);
        assert_eq!(report.findings, [], "{:#?}", report.findings);
        assert_eq!(report.verdict, Outcome::Clean);
        let unchecked = &report.extract.as_ref().unwrap().not_checked;
        let left = unchecked.get(&Unchecked::RivalProposals).copied();
        assert_eq!(left.unwrap_or_default(), word);
    }
}

/// Another record is said to cause it: the lapse, or one of before that the bundle does not have.
#[tokio::test]
async fn cx_29_the_escalation_names_another_cause() {
    for about in [About::Retry, About::Third] {
        for cause in ["lapsed", "envelope_accepted", "round_opened"] {
            let mut silence = honest().await;
            let escalated = silence.event(about, "round_escalated");
            let other = silence.event(about, cause);
            silence.story.set(escalated, "/cause", json!(other));
            silence.is_found(about);
        }
        let mut silence = honest().await;
        let escalated = silence.event(about, "round_escalated");
        silence.story.set(escalated, "/cause", json!(1));
        silence.is_found(about);
    }
}

/// Humans are asked when it suits: the escalation stands later than behind the decision.
#[tokio::test]
async fn cx_29_the_escalation_is_later_than_its_decision() {
    for about in [About::Retry, About::Third] {
        let mut silence = honest().await;
        let escalated = silence.event(about, "round_escalated");
        let (told, over) = (silence.notice(escalated), silence.lapse(about, "human"));
        // Humans have as long as they had.
        let late_ms = silence.story.time(told) - silence.story.time(escalated);
        let until = silence.story.time(over) + late_ms;
        silence.story.moved(escalated, told).at(over, until);
        silence.is_found(about);
        // A record of others before it is not in the bundle, so that what is directly before it is not here.
        let stranger = silence.strangers[about as usize];
        silence.story.moved(stranger, escalated);
        silence.is_found(about);
    }
}

#[tokio::test]
async fn cx_29_the_escalation_is_before_its_decision() {
    for about in [About::Retry, About::Third] {
        let mut silence = honest().await;
        let (escalated, decided) = (
            silence.event(about, "round_escalated"),
            silence.event(about, "round_decided"),
        );
        silence.story.moved(escalated, decided);
        silence.is_found(about);
    }
}

#[tokio::test]
async fn cx_29_humans_are_asked_twice() {
    for about in [About::Retry, About::Third] {
        let mut silence = honest().await;
        let escalated = silence.event(about, "round_escalated");
        let told = silence.notice(escalated);
        silence.story.again(escalated, told);
        silence.is_found(about);
    }
}

/// It says of itself that it is about other votes.
#[tokio::test]
async fn cx_29_the_escalation_is_of_other_votes() {
    let mut silence = honest().await;
    let escalated = silence.event(About::Third, "round_escalated");
    silence
        .story
        .set(escalated, "/votes_digest", json!("11".repeat(32)));
    silence.is_found(About::Third);
}

/// Of a retry the bundle has the round before, and who was silent there: humans have to be asked at once.
#[tokio::test]
async fn cx_29_humans_are_not_asked_about_a_retry_that_fails_in_the_same_way() {
    let mut silence = honest().await;
    let about = About::Retry;
    let (decided, escalated) = (
        silence.event(about, "round_decided"),
        silence.event(about, "round_escalated"),
    );
    let (told, over) = (silence.notice(escalated), silence.lapse(about, "human"));
    let until = silence.story.time(decided) + RETRY_MS + 1;
    silence
        .story
        .set(over, "/window", json!("resubmission"))
        .set(over, "/code", json!("CCN-5009"))
        .at(over, until);
    silence.story.without([escalated, told]);
    silence.is_found(about);
}

/// A round about no resource, which retries nothing, is related to none: it is the first of its kind, and a
/// third attempt would have been possible.
#[tokio::test]
async fn cx_29_a_round_that_is_related_to_none_is_called_a_deadlock() {
    let mut silence = honest().await;
    let about = About::Alone;
    let (decided, escalated) = (
        silence.event(about, "round_decided"),
        silence.event(about, "round_escalated"),
    );
    let stream = silence.stream(about);
    let plea = silence
        .story
        .names(|it| it.stream == stream && it.message_type() == Verb::Escalate.as_str())[0];
    let (told, of_outcome) = (silence.notice(escalated), silence.notice(decided));
    silence
        .story
        .set(escalated, "/reason", json!("deadlock"))
        .set(escalated, "/cause", json!(decided))
        .say(told, "reason", json!("deadlock"))
        .moved(escalated, of_outcome)
        .without([plea]);
    let at = silence.story.time(decided);
    silence.story.at(escalated, at);
    silence.is_found(about);
}
