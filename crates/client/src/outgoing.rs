//! Requests that leave this process, and proxies: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are obeyed, but this machine
//! itself is never asked through a proxy.

use x811_protocol::loopback::is_loopback_host;

/// What an HTTP client for that URL is built from.
pub fn client_to(url: &str) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder();
    let url = reqwest::Url::parse(url).ok();
    let is_here = url.is_some_and(|url| url.host_str().is_some_and(is_loopback_host));
    if is_here { builder.no_proxy() } else { builder }
}
