//! Two loops that come to an agreement by themselves, and work under it, by what their files say.

use super::agreement::advertised;
use super::loops::{CAPS, Loop, initiator};
use super::stage::{Stage, text};
use serde_json::{Value, json};
use x811_tests::verifiers::{Job, Verifier};

const TYPE: &str = "com.example.translate";

/// Bert grants three uses at most, two of them in a minute.
fn provider(stage: &Stage) -> Loop {
    let config = format!(
        "[sessions]\nstrategy = 'halfway'\n[[grant]]\ntype = '{TYPE}'\n\
         first = {{ duration_s = 600, max_requests = 1 }}\n\
         most = {{ duration_s = 7200, max_requests = 3, max_request_bytes = 65536 }}\n\
         [[capability]]\ntask = '{TYPE}'\nprice = '0.029'\ntime_s = 5\n[run]\ncommand = ['cat']\n"
    );
    Loop::start(stage, "bert", "provider", &config)
}

/// Ada wants nine and takes this many, for these orders.
fn consumer(stage: &Stage, bert: &str, least: u64, orders: &[&str]) -> Loop {
    let mut rest = format!(
        "{CAPS}[sessions]\nstrategy = 'halfway'\n[[agreement]]\nkey = 'translate'\n\
         provider = '{bert}'\ntype = '{TYPE}'\nmax_version = '1.1.0'\nmin_version = '1.0.0'\n\
         parameters = {{ to = 'de' }}\nfirst = {{ duration_s = 7200, max_requests = 9 }}\n\
         least = {{ duration_s = 600, max_requests = {least} }}\n"
    );
    for key in orders {
        rest += &format!(
            "[[order]]\nkey = '{key}'\nagreement = 'translate'\nprovider = '{bert}'\n\
             task = '{TYPE}'\nbudget = '0.05'\ndeadline_s = 60\npolicy = 'auto'\n\
             parameters = {{ text = '{key}' }}\n"
        );
    }
    initiator(stage, &rest)
}

fn listed(stage: &Stage, agent: &str, what: &str) -> Vec<Value> {
    let list = stage.x811(agent, &["capability", what]).ok().json();
    list[what].as_array().unwrap().clone()
}

#[tokio::test]
async fn cc_076_two_loops_agree_within_their_limits_and_work_under_the_agreement() {
    let (stage, bert) = Stage::peopled(&[]).await;
    advertised(&stage);
    let working = provider(&stage);
    let paying = consumer(&stage, &bert, 2, &["first", "second"]);
    let _ = paying.until(&stage, "agreed", TYPE).await;
    for _ in 0..90 {
        if working.count("paid", "completed") == 2 {
            break;
        }
        stage.anvil.next_block().await;
    }
    assert_eq!(
        working.count("paid", "completed"),
        2,
        "{:?}",
        working.told()
    );

    let sessions = listed(&stage, "ada", "sessions");
    let [session] = &sessions[..] else {
        panic!("{sessions:?}");
    };
    assert_eq!(session["reason"], "agreed", "{session}");
    assert!(session["counters"].as_u64().unwrap() >= 1, "{session}");
    let agreements = listed(&stage, "bert", "agreements");
    let [agreement] = &agreements[..] else {
        panic!("{agreements:?}");
    };
    assert_eq!(agreement["status"], "active", "{agreement}");
    assert_eq!(agreement["requests"], 2, "{agreement}");
    let most = agreement["limits"]["max_requests"].as_u64().unwrap();
    assert!((2..=3).contains(&most), "{agreement}");
    assert_eq!(
        agreement["limits"]["max_request_bytes"], 65_536,
        "{agreement}"
    );

    // Another order, and a loop that has forgotten everything: the agreement that is in force is used.
    paying.kill();
    let id = text(agreement, "id");
    let paying = consumer(&stage, &bert, 2, &["first", "second", "third"]);
    if most == 3 {
        for _ in 0..90 {
            if paying.count("paid", "completed") == 3 {
                break;
            }
            stage.anvil.next_block().await;
        }
    } else {
        let _ = paying
            .until(&stage, "ALARM", "negotiate the agreement again")
            .await;
    }
    assert_eq!(
        listed(&stage, "ada", "sessions").len(),
        1,
        "nothing is asked for twice"
    );

    let bundle = stage.folder.path().join("agreement.x811");
    let named = bundle.to_str().unwrap();
    let _ = stage
        .x811("ada", &["export", "--agreement", &id, "-o", named])
        .ok();
    let audited = stage.x811("", &["audit", named]).json();
    assert_eq!(audited["findings"], json!([]), "{audited}");
    // An interaction under the agreement brings it along, and the other reader follows.
    let paid = working.until(&stage, "paid", "completed").await;
    let named = stage.folder.path().join("interaction.x811");
    let export = [
        "export",
        "--interaction",
        &text(&paid, "interaction"),
        "-o",
        named.to_str().unwrap(),
    ];
    let _ = stage.x811("ada", &export).ok();
    let audited = stage.x811("", &["audit", named.to_str().unwrap()]).json();
    assert_eq!(audited["findings"], json!([]), "{audited}");
    Verifier::Reader.judge(Job::export(&named)).unwrap();
    let whole = stage.audit();
    assert_eq!(whole["findings"], json!([]), "{whole}");
}

#[tokio::test]
async fn cc_082_loops_that_cannot_meet_part_without_an_agreement() {
    let (stage, bert) = Stage::peopled(&[]).await;
    advertised(&stage);
    let working = provider(&stage);
    let paying = consumer(&stage, &bert, 5, &["first"]);
    let _ = paying.until(&stage, "over", "no terms").await;
    let sessions = listed(&stage, "bert", "sessions");
    assert_eq!(sessions[0]["reason"], "rejected", "{sessions:?}");
    assert_eq!(listed(&stage, "bert", "agreements"), Vec::<Value>::new());
    assert_eq!(working.count("working", ""), 0);
}
