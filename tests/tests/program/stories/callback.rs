//! The `callback_url` of a REQUEST is recorded and never called (README, AE-47): whoever could make the
//! ledger call an address could make it look around in its operator's network.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::stage::{Stage, text};

#[tokio::test]
async fn ae_047_and_ax_014_a_callback_url_is_recorded_and_never_called() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (stage, bert) = Stage::peopled(&[]).await;
    let requested = || {
        let request = [
            "send", "request", "--to", &bert, "--task", "echo", "--budget", "0.05",
        ];
        let more = [
            "--deadline",
            "60",
            "--param",
            "text=hello",
            "--callback-url",
        ];
        let request = [&request[..], &more, &[&url]].concat();
        text(&stage.x811("ada", &request).ok().json(), "interaction_id")
    };

    // Paid; disputed, which the ledger tells both parties of; rejected.
    let paid = requested();
    let inbox = stage.x811("bert", &["inbox"]).ok();
    assert!(inbox.stdout.contains(&url), "{}", inbox.stdout);
    stage.deliver_on(&paid, "hello");
    let _ = stage.pay(&paid);
    assert_eq!(stage.until_decided(&paid).await.code, Some(0));
    let disputed = requested();
    let offer = |id: &str| {
        let offer = ["send", "offer", id, "--price", "0.029", "--time", "5"];
        let _ = stage.x811("bert", &offer).ok();
    };
    offer(&disputed);
    let _ = stage.x811("ada", &["send", "accept", &disputed]).ok();
    let result = ["send", "result", &disputed, "--content", "nonsense"];
    let _ = stage.x811("bert", &result).ok();
    let fault = ["send", "verify", &disputed, "--dispute", "QUALITY"];
    let fault = [&fault[..], &["--reason", "not what I asked for"]].concat();
    let _ = stage.x811("ada", &fault).ok();
    let rejected = requested();
    offer(&rejected);
    let reject = ["send", "reject", &rejected, "--code", "PRICE_TOO_HIGH"];
    let _ = stage.x811("ada", &reject).ok();

    let called = listener.accept().map(|(_, caller)| caller);
    let nobody = called.as_ref().map_err(std::io::Error::kind);
    assert_eq!(nobody, Err(ErrorKind::WouldBlock), "somebody called");
}
