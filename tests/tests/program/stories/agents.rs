//! Two programs that never met settle by policy, unattended (AE-109 to AE-117, agents.md section 2).

use super::loops::{CAPS, Loop, initiator, interaction, order, provider, said};
use super::stage::Stage;
use alloy::primitives::Address;
use x811_tests::anvil::BASE_USDC;

const WORK: &str = "read -r task\nprintf 'done %s' \"$X811_INTERACTION_ID\"\n";

const ALL: [&str; 6] = [
    "x811/request",
    "x811/offer",
    "x811/accept",
    "x811/result",
    "x811/verify",
    "x811/payment",
];

async fn purse(stage: &Stage) -> u64 {
    let ada = stage.x811("", &["agent", "show", "ada"]).ok().json();
    let wallet: Address = ada["agents"][0]["wallet"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    stage.anvil.balance(BASE_USDC, wallet).await
}

#[tokio::test]
async fn ae_110_and_ae_115_what_fits_the_policy_is_settled_without_anybody() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let before = purse(&stage).await;
    let provider = provider(&stage, WORK);
    // The total is 0.029725: at the edge of the threshold, and of the budget.
    let auto = order("auto", &bert, "0.029725", "policy = 'auto'");
    let edge = "policy = 'threshold'\nthreshold = '0.029725'";
    let edge = order("edge", &bert, "0.05", edge);
    let dear = order("dear", &bert, "0.029724", "policy = 'auto'");
    let initiator = initiator(&stage, &[CAPS, &auto, &edge, &dear].concat());

    for number in 0..90 {
        if initiator.count("paid", "completed") == 2 && provider.count("paid", "completed") == 2 {
            break;
        }
        assert!(number < 89, "{:?} {:?}", initiator.told(), provider.told());
        stage.anvil.next_block().await;
    }

    let told = initiator.told();
    let paid = told.iter().filter(|line| line["what"] == "paid");
    for interaction in paid.map(interaction) {
        assert_eq!(said(&stage, &interaction), ALL, "each once, in order");
        let paid = stage.x811("bert", &["provider", "paid", &interaction]);
        assert_eq!(paid.code, Some(0), "{paid:?}");
        let history = stage.x811("bert", &["history", &interaction]).ok();
        let name = format!("done {interaction}");
        let result = stage.x811("ada", &["inbox"]).ok();
        assert!(result.stdout.contains(&name), "{result:?} {history:?}");
    }
    // The provider offers nothing above a budget.
    let cost = 2 * 29_725;
    assert_eq!(before - purse(&stage).await, cost, "paid twice, once each");
    for agent in ["ada", "bert"] {
        let status = stage.x811(agent, &["agent", "status"]).ok().json();
        assert_eq!(status["proofs_awaited"], 0, "{status}");
    }
    let report = stage.audit();
    assert_eq!(report["interactions"]["completed"], 2, "{report}");
}

#[tokio::test]
async fn ae_113_and_ae_116_a_person_is_asked_and_approves_or_rejects_or_says_nothing() {
    let (stage, bert) = Stage::peopled(&["--accept-ms", "25000"]).await;
    let _provider = provider(&stage, WORK);
    let person = order("person", &bert, "0.05", "policy = 'human_approval'");
    // One micro-USDC above the threshold.
    let above = "policy = 'threshold'\nthreshold = '0.029724'";
    let above = order("above", &bert, "0.05", above);
    let silent = order("silent", &bert, "0.05", "policy = 'human_approval'");
    let initiator = initiator(&stage, &[CAPS, &person, &above, &silent].concat());
    for number in 0..30 {
        if initiator.count("asked", "0.029725") == 3 {
            break;
        }
        assert!(number < 29, "{:?}", initiator.told());
        stage.anvil.next_block().await;
    }
    let waiting = stage.x811("ada", &["approvals", "list"]).ok().json();
    let asked: Vec<String> = waiting["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(interaction)
        .collect();
    let [first, second, third] = asked.as_slice() else {
        panic!("{waiting}");
    };
    let other = ["approvals", "approve", first, "--total", "0.029"];
    assert_eq!(stage.x811("ada", &other).code, Some(4), "another total");
    let _ = stage.x811("ada", &["approvals", "approve", first]).ok();
    let rejected = ["approvals", "reject", second, "--reason", "not today"];
    let _ = stage.x811("ada", &rejected).ok();

    stage.until_recorded(second, "x811/reject").await;
    let told = stage.x811("bert", &["inbox"]).ok();
    assert!(told.stdout.contains("not today"), "{told:?}");
    stage.until_recorded(third, "X811-4021").await;
    let paid = stage.until_decided(first).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    assert_eq!(said(&stage, first), ALL);
    let waiting = stage.x811("ada", &["approvals", "list"]).ok().json();
    assert_eq!(waiting["questions"], serde_json::json!([]), "{waiting}");
    let too_late = stage.x811("ada", &["approvals", "approve", third]);
    assert_eq!(too_late.code, Some(4), "{too_late:?}");
}

/// Waits until Bert's inbox has a message of that kind.
async fn until_sent(stage: &Stage, kind: &str) {
    let wanted = format!("\"x811/{kind}\"");
    for _ in 0..60 {
        if stage.x811("bert", &["inbox"]).ok().stdout.contains(&wanted) {
            return;
        }
        stage.anvil.next_block().await;
    }
    let log = stage.folder.path().join("home/ada.log");
    let log = std::fs::read_to_string(log).unwrap();
    panic!("no {kind} within 60 blocks:\n{log}");
}

/// The initiator's process is killed after every message it says, and started again each time.
#[tokio::test]
async fn ae_064_kill_9_after_every_message_says_and_pays_once() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let before = purse(&stage).await;
    let provider = provider(&stage, WORK);
    let config = [CAPS, &order("one", &bert, "0.05", "policy = 'auto'")].concat();
    for kind in ["request", "accept", "verify", "payment"] {
        let running = initiator(&stage, &config);
        until_sent(&stage, kind).await;
        running.kill();
    }
    let last = initiator(&stage, &config);
    let paid = provider.until(&stage, "paid", "completed").await;
    assert_eq!(said(&stage, &interaction(&paid)), ALL);
    assert_eq!(before - purse(&stage).await, 29_725);
    let _ = last.until(&stage, "paid", "completed").await;
}

/// Its folder is deleted as well: what it does is found at the ledger, and on the chain.
#[tokio::test]
async fn ae_064_a_deleted_state_file_pays_nothing_twice() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let before = purse(&stage).await;
    let provider = provider(&stage, WORK);
    let config = [CAPS, &order("one", &bert, "0.05", "policy = 'auto'")].concat();
    for kind in ["accept", "verify", "payment"] {
        let running = initiator(&stage, &config);
        until_sent(&stage, kind).await;
        running.kill();
        let state = stage.folder.path().join("home/loops/ada");
        // The process may have been killed before it made its folder: what it waits for was said by
        // the one before it.
        if state.exists() {
            std::fs::remove_dir_all(state).unwrap();
        }
    }
    let _last = initiator(&stage, &config);
    let paid = provider.until(&stage, "paid", "completed").await;
    assert_eq!(said(&stage, &interaction(&paid)), ALL);
    assert_eq!(before - purse(&stage).await, 29_725);
    let requests = stage.x811("bert", &["inbox"]).ok().json();
    let messages = requests["messages"].as_array().unwrap();
    let is_request = |message: &&serde_json::Value| message["envelope"]["type"] == ALL[0];
    assert_eq!(messages.iter().filter(is_request).count(), 1, "{requests}");
}

#[tokio::test]
async fn ax_044_of_two_loops_of_one_agent_the_newest_alone_sends() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let config = "[[capability]]\ntask = 'echo'\nprice = '0.029'\ntime_s = 5\n\
                  [run]\ncommand = ['/bin/echo', 'done']\n";
    let home = stage.folder.path().join("home");
    let mut first = Loop::start(&stage, "bert", "provider", config);
    let _ = first.until(&stage, "feed", "").await;
    // In the same folder the second does not start.
    let copy = stage.folder.path().join("copy");
    std::fs::create_dir_all(copy.join("agents")).unwrap();
    let key = "agents/bert.json";
    std::fs::copy(home.join(key), copy.join(key)).unwrap();
    let file = home.join("bert.toml");
    let run = [
        "agent",
        "run",
        "provider",
        "--config",
        file.to_str().unwrap(),
    ];
    let refused = stage.x811("bert", &run);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    // On another computer, with the same keys, it takes over.
    let second = Loop::start_in(&stage, &copy, "bert", "provider", config);
    let _ = second.until(&stage, "feed", "").await;
    assert_eq!(first.ended(&stage).await, Some(4), "{:?}", first.told());
    let interaction = stage.request(&bert, "hello");
    let _ = second.until(&stage, "said", "offer").await;
    assert_eq!(first.count("said", ""), 0);
    assert_eq!(said(&stage, &interaction), ALL[..2]);
}

/// The command of a loop that is killed with -9 does not go on beside the one that comes after it.
#[tokio::test]
async fn ae_059_kill_9_of_the_loop_ends_its_command() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let mark = stage.folder.path().join("group");
    let script = format!("echo $$ > {}\nsleep 1000 & sleep 1000\n", mark.display());
    let running = provider(&stage, &script);
    let interaction = stage.request(&bert, "hello");
    let _ = running.until(&stage, "said", "offer").await;
    let _ = stage.x811("ada", &["send", "accept", &interaction]).ok();
    let _ = running.until(&stage, "working", "echo").await;
    let mut group = String::new();
    for _ in 0..30 {
        group = std::fs::read_to_string(&mark)
            .unwrap_or_default()
            .trim()
            .to_owned();
        if !group.is_empty() {
            break;
        }
        stage.anvil.next_block().await;
    }
    let id: i32 = group.parse().unwrap();
    assert!(!alive(id).is_empty(), "the command runs");
    running.kill();
    for _ in 0..30 {
        if alive(id).is_empty() {
            return;
        }
        stage.anvil.next_block().await;
    }
    panic!("the command goes on: {:?}", alive(id));
}

/// Processes of that group that have not ended.
fn alive(group: i32) -> Vec<String> {
    let stats = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = entry.unwrap().path().join("stat");
        // A process that ended meanwhile, or no process.
        std::fs::read_to_string(stat).ok()
    });
    let of_group = |stat: &String| {
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let mut words = rest.split_whitespace();
        let state = words.next();
        state != Some("Z") && words.nth(1) == Some(&group.to_string())
    };
    stats.filter(of_group).collect()
}
