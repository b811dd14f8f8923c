//! Pages in a real browser. The auditor's is shown, runs nothing of what a hostile file brought along,
//! and asks nobody for anything; the server's page of its endpoints is shown under its own policy.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use x811_tests::binary::{Server, run};
use x811_tests::browser::{scroll_width_px, show, visit};

use super::stage::Stage;

/// What the file below wants a browser to do.
const PLANT: &str = "<script>document.title='owned'</script><img src=http://x811.example/a.png>\
                     \u{202e}";

#[tokio::test]
async fn promise_4_the_page_of_a_hostile_file_is_shown_and_runs_nothing() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let _ = stage.pay(&interaction);
    assert_eq!(stage.until_decided(&interaction).await.code, Some(0));

    let place = |name: &str| stage.folder.path().join(name);
    let (file, page) = (place("log.x811"), place("report.html"));
    let (file, page) = (file.to_str().unwrap(), page.to_str().unwrap());
    let data_dir = stage.data_dir();
    let _ = run(&["export", data_dir.to_str().unwrap(), "-o", file]).ok();
    let audited = run(&["audit", file, "--html", page]).unverified();
    assert_eq!(audited.stderr, "", "nobody watches: no progress bar");
    let shown = show(page.as_ref(), 1_100);
    assert_eq!(shown.requests, Vec::<String>::new());
    assert!(shown.picture.starts_with(b"\x89PNG"));
    for part in [
        "Clean: nothing is wrong",
        "0.029725",
        "1 completed",
        &ledger_of(file),
    ] {
        assert!(shown.document.contains(part), "no {part} in {shown:?}");
    }

    // In names, in streams, in states, in what cannot be read: wherever a text can be.
    let honest = fs::read_to_string(file).unwrap();
    let mut findings = 0;
    for text in [
        "local",
        "interaction:",
        "echo",
        "x811/offer",
        "confirmed",
        "0.029",
    ] {
        let hostile = honest.replace(text, &PLANT.replace('"', "\\\""));
        assert!(hostile != honest, "{text} is in the file");
        fs::write(file, hostile).unwrap();
        let audited = run(&["audit", file, "--html", page]);
        assert_eq!(audited.code, Some(20), "{text}: {audited:?}");
        let source = fs::read_to_string(page).unwrap();
        assert!(
            !source.contains("<script") && !source.contains("<img"),
            "{source}"
        );
        assert!(!source.contains('\u{202e}'), "{source}");
        findings += source.matches("&lt;script&gt;").count();
    }
    assert!(findings > 0, "the page quotes what was planted");
    let shown = show(page.as_ref(), 390);
    assert_eq!(shown.requests, Vec::<String>::new());
    assert!(shown.document.contains("<title>x811 audit: broken</title>"));
}

/// The ledger's DID, as the header of an export says.
fn ledger_of(file: &str) -> String {
    let text = fs::read_to_string(file).unwrap();
    let start = text.find("did:x811:").unwrap();
    text[start..start + 45].to_owned()
}

#[test]
fn a_page_that_asks_the_network_is_noticed() {
    let folder = tempfile::TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    fs::write(
        &page,
        "<!doctype html><title>t</title><img src=http://x811.example/a.png>",
    )
    .unwrap();
    let requests = show(&page, 390).requests;
    let heard = requests
        .iter()
        .any(|request| request.contains("x811.example"));
    assert!(heard, "{requests:?}");
}

/// It is made of scripts, styles and a description, and its policy names who may give them.
#[test]
fn design_8_the_page_of_the_endpoints_is_shown_and_its_policy_forbids_none_of_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let nowhere = ["--rpc", "http://127.0.0.1:1"];
    let server = Server::start(&folder.path().join("data"), &nowhere).unwrap();
    let shown = visit(&format!("{}/docs/", server.url()));
    assert_eq!(shown.forbidden, Vec::<String>::new());
    assert_eq!(shown.requests, Vec::<String>::new());
    // As Swagger UI writes an operation once it has read the description.
    for part in ["opblock-summary-path", "data-path=\"/api/v1/messages\""] {
        assert!(shown.document.contains(part), "no {part} in {shown:?}");
    }
    server.kill();
}

#[test]
fn a_page_whose_policy_forbids_something_is_noticed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let _ = connection.read(&mut [0; 1_024]);
            let page = "<!doctype html><title>t</title><script>document.title='ran'</script>";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\
                        Content-Security-Policy: default-src 'none'";
            let length = page.len();
            let answer = format!("{head}\r\nContent-Length: {length}\r\n\r\n{page}");
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    let shown = visit(&format!("http://{address}/"));
    assert!(!shown.forbidden.is_empty(), "{shown:?}");
    assert!(shown.document.contains("<title>t</title>"), "{shown:?}");
}

/// Hashes, DIDs, keys, names of streams, tables: on a phone too.
#[test]
fn lc_9_a_page_on_a_phone_does_not_scroll_sideways() {
    let folder = tempfile::TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, page) = (place(&"long-name".repeat(20)), place("report.html"));
    let honest = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/vectors/bundle/log-every-event.x811"
    );
    let honest = fs::read_to_string(honest).unwrap();
    let unbroken = "x".repeat(300);
    for (name, log) in [
        ("honest", honest.clone()),
        (
            "streams",
            honest.replace("\"agent:", &format!("\"agent:{unbroken}")),
        ),
        (
            "events",
            honest.replace("\"type\":\"lapsed\"", &format!("\"type\":\"{unbroken}\"")),
        ),
        (
            "networks",
            honest.replace("\"base\"", &format!("\"{unbroken}\"")),
        ),
    ] {
        fs::write(&file, log).unwrap();
        let audited = run(&["audit", &file, "--html", &page]);
        assert!(audited.code.is_some_and(|code| code != 4), "{audited:?}");
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.contains("data-label="), "{name} has tables");
        // As a note of an endpoint names its newest block.
        let note = format!("<ul>\n<li>at its block 5 (0x{}).</li>", "ab".repeat(32));
        assert!(text.contains("<ul>\n<li>"), "{name} has notes");
        fs::write(&page, text.replace("<ul>\n", &format!("{note}\n"))).unwrap();
        assert_eq!(scroll_width_px(page.as_ref(), 390), 390, "{name}");
    }
}
