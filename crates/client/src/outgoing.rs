//! HTTP clients and proxies. `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` apply to every URL but those of loopback
//! addresses, which are never sent through a proxy.

use x811_protocol::loopback::is_loopback_host;

/// Builder of an HTTP client for the URL.
pub fn client_to(url: &str) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder();
    let url = reqwest::Url::parse(url).ok();
    let is_here = url.is_some_and(|url| url.host_str().is_some_and(is_loopback_host));
    if is_here { builder.no_proxy() } else { builder }
}
