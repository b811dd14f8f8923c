//! A real browser, Chromium, that shows one page and tells what it asked the network for, and what the
//! page's policy forbade.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

/// Whom Chromium asks of its own accord, whatever it shows and however it is started.
const ITS_OWN: [&str; 2] = ["google.com", "googleapis.com"];

/// What a browser made of a page.
#[derive(Debug)]
pub struct Shown {
    /// The document after everything in it has run, as HTML.
    pub document: String,
    /// The picture of it, as PNG.
    pub picture: Vec<u8>,
    /// First lines of all requests that left for any network, but the browser's own.
    pub requests: Vec<String>,
}

/// Opens `page` in a window as wide as this, twice: once for the document, once for the picture.
///
/// # Panics
/// When there is no Chromium, or it fails; when `page` names a host that Chromium asks by itself, for
/// then nobody could tell who asked.
#[must_use]
pub fn show(page: &Path, width_px: u32) -> Shown {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let names = |text: &str| ITS_OWN.iter().any(|host| text.contains(host));
    assert!(!names(&text), "the page names a host of the browser's own");
    let folder = TempDir::new().expect("a folder can be made");
    let (proxy, requests) = proxy();
    let picture = folder.path().join("picture.png");
    let screenshot = format!("--screenshot={}", picture.display());
    let show = |what: &str| chromium(&file(page), width_px, &folder, &[&asking(proxy), ALL, what]);
    let document = show("--dump-dom").stdout;
    let _ = show(&screenshot);
    let mut requests: Vec<String> = requests.try_iter().collect();
    requests.retain(|request| !names(request));
    Shown {
        document: String::from_utf8(document).expect("a document is UTF-8"),
        picture: std::fs::read(picture).expect("a picture was taken"),
        requests,
    }
}

/// How wide `page` is in a window as wide as that: more than the window is where it scrolls sideways.
///
/// # Panics
/// When there is no Chromium, or it fails.
#[must_use]
pub fn scroll_width_px(page: &Path, width_px: u32) -> u32 {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    let folder = TempDir::new().expect("a folder can be made");
    let frame = folder.path().join("frame.html");
    // A window has a least width of its own; a frame has not, and the page in it runs no script.
    let framed = format!(
        "<!doctype html><title>none</title><iframe style=\"width:{width_px}px;height:900px;border:0\" \
         srcdoc=\"{text}\"></iframe><script>onload=()=>{{const shown=document.querySelector('iframe')\
         .contentDocument.documentElement;document.title='width '+shown.scrollWidth+'.'}}</script>"
    );
    std::fs::write(&frame, framed).expect("the frame can be written");
    let (proxy, _requests) = proxy();
    let options = [&*asking(proxy), ALL, "--dump-dom"];
    let document = chromium(&file(&frame), 1_100, &folder, &options).stdout;
    let document = String::from_utf8(document).expect("a document is UTF-8");
    let width = document
        .split_once("<title>width ")
        .and_then(|(_, behind)| behind.split_once('.'));
    let (width, _) = width.expect("the frame was measured");
    width.parse().expect("a width is a number")
}

/// A proxy that hears every request, tells its first line, and answers none.
fn proxy() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener
        .local_addr()
        .expect("a bound listener has an address");
    let (heard, requests) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut connection = connection;
            let mut bytes = [0; 1_024];
            let read = connection
                .set_read_timeout(Some(Duration::from_secs(2)))
                .and_then(|()| connection.read(&mut bytes));
            let said = String::from_utf8_lossy(&bytes[..read.unwrap_or_default()]);
            let first = said.lines().next().unwrap_or_default().to_owned();
            // A connection that says nothing was opened ahead of time, for nobody.
            if !first.is_empty() && heard.send(first).is_err() {
                break;
            }
        }
    });
    (address, requests)
}

/// What a browser made of a page that a server gave it.
#[derive(Debug)]
pub struct Visited {
    /// The document after everything in it has run, as HTML.
    pub document: String,
    /// What the page's policy forbade, a line each.
    pub forbidden: Vec<String>,
    /// First lines of all requests to other computers than this, but the browser's own.
    pub requests: Vec<String>,
}

/// Opens the page at `url`, of a server on this computer, and lets its scripts run.
///
/// # Panics
/// When there is no Chromium, or it fails.
#[must_use]
pub fn visit(url: &str) -> Visited {
    let folder = TempDir::new().expect("a folder can be made");
    let (proxy, requests) = proxy();
    let options = [
        &*asking(proxy),
        "--dump-dom",
        "--virtual-time-budget=20000",
        "--enable-logging=stderr",
    ];
    let output = chromium(url, 1_100, &folder, &options);
    let mut requests: Vec<String> = requests.try_iter().collect();
    requests.retain(|request| !ITS_OWN.iter().any(|host| request.contains(host)));
    let said = String::from_utf8_lossy(&output.stderr);
    let forbidden = said
        .lines()
        .filter(|line| line.contains("Content Security Policy"));
    Visited {
        document: String::from_utf8(output.stdout).expect("a document is UTF-8"),
        forbidden: forbidden.map(str::to_owned).collect(),
        requests,
    }
}

/// Asks this computer by the proxy too.
const ALL: &str = "--proxy-bypass-list=<-loopback>";

fn asking(proxy: SocketAddr) -> String {
    format!("--proxy-server=http://{proxy}")
}

fn file(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// Runs Chromium once.
fn chromium(url: &str, width_px: u32, folder: &TempDir, options: &[&str]) -> Output {
    let output = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps",
            "--disable-extensions",
            "--disable-sync",
            "--no-first-run",
            "--no-pings",
            "--hide-scrollbars",
            "--timeout=5000",
        ])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("--window-size={width_px},2000"))
        .args(options)
        .arg(url)
        .output()
        .expect("chromium starts: run scripts/test.sh, which installs it");
    assert!(output.status.success(), "chromium failed: {output:?}");
    output
}
