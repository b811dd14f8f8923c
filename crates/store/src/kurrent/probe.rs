//! The address of a cluster, and the cause why none of its nodes can be used.
//!
//! The vendor's client says only that it gave up. So each node is asked for its gossip here, over
//! HTTP/1.1 with the same settings and the same user, and the first thing that goes wrong is named.
//! No sentence has the user or the password in it.
//!
//! | file | what is in it |
//! |---|---|
//! | `sorting` | the cause that an answer or an error shows |
//! | `finding` | causes of several nodes as one sentence |

pub(super) mod finding;
pub(super) mod sorting;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use eventstore::ClientSettings;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Identity, RequestBuilder, StatusCode};
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use self::finding::{Cause, Finding};
use self::sorting::{bounded, chain, of_answer, of_error};
use super::error::KurrentError;

/// Longest wait for one node.
const PATIENCE: Duration = Duration::from_secs(3);

/// Most bytes of a gossip that are read. A cluster of five members has some 5 kB.
const MAX_GOSSIP_BYTES: usize = 256 * 1024;

/// The address of a cluster, as the vendor's client reads it.
pub(super) struct Address(ClientSettings);

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address")
    }
}

impl Address {
    /// Reads the URL of a log, and checks the files that it names. The leader is asked, whatever
    /// node the URL prefers.
    pub(super) fn of(url: &str) -> Result<Address, KurrentError> {
        let url = discovered(url);
        let joint = if url.contains('?') { '&' } else { '?' };
        // Of two settings the last one counts. The first attempt only finds out whom to ask.
        let ours = "nodePreference=leader&maxDiscoverAttempts=3&discoveryInterval=20";
        let parsed = format!("{url}{joint}{ours}").parse::<ClientSettings>();
        let settings = parsed.map_err(|_| KurrentError::Url)?;
        check_files(&settings).map_err(KurrentError::Misconfigured)?;
        Ok(Address(settings))
    }

    /// Returns true if the URL names a user.
    pub(super) fn has_user(&self) -> bool {
        self.0.default_authenticated_user().is_some()
    }

    /// Returns the settings for the vendor's client.
    pub(super) fn settings(&self) -> &ClientSettings {
        &self.0
    }

    /// Returns the user and the password as the vendor's client sends them, which shows them only
    /// when they are serialized.
    fn user(&self) -> Option<(String, String)> {
        let user = serde_json::to_value(self.0.default_authenticated_user()).ok()?;
        let text = |name: &str| {
            let bytes: Vec<u8> = serde_json::from_value(user.get(name)?.clone()).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        Some((text("login")?, text("password")?))
    }
}

/// Returns the URL without `+discover` if it names several nodes: with it the vendor's client asks the
/// first one alone.
fn discovered(url: &str) -> String {
    match url.split_once("+discover://") {
        Some((scheme, rest)) if rest.split('?').next().is_some_and(|it| it.contains(',')) => {
            format!("{scheme}://{rest}")
        }
        _ => url.to_owned(),
    }
}

/// Checks the files that the settings name: the vendor's client panics at a broken one.
fn check_files(settings: &ClientSettings) -> Result<(), String> {
    if let Some(path) = settings.tls_ca_file() {
        let mut roots = RootCertStore::empty();
        for certificate in certificates("tlsCaFile", path)? {
            let added = roots.add(certificate);
            added.map_err(|_| no_certificate("tlsCaFile", path))?;
        }
    }
    if let Some((certificate, key)) = settings.user_certificate() {
        certificates("userCertFile", certificate)?;
        let bytes = content("userKeyFile", key)?;
        PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
            format!(
                "the file {key} (userKeyFile in the log's URL) has no private key in PEM. Name the \
                 right file"
            )
        })?;
    }
    Ok(())
}

fn content(setting: &str, path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| {
        format!(
            "the file {path} ({setting} in the log's URL) cannot be read ({error}). Correct the \
             path, or let the ledger's user read the file"
        )
    })
}

fn certificates(setting: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = content(setting, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(no_certificate(setting, path)),
    }
}

fn no_certificate(setting: &str, path: &str) -> String {
    format!(
        "the file {path} ({setting} in the log's URL) has no certificate in PEM, or a damaged one. \
         Name the right file"
    )
}

/// Looks at every node of a cluster that the vendor's client could not use, and at the leader that
/// they name. `said` is the error of that client.
pub(super) async fn cause(address: &Address, said: &str) -> Finding {
    let asker = match Asker::of(address) {
        Ok(asker) => asker,
        Err(sentence) => return Finding::lasting(sentence),
    };
    let hosts = address.settings().hosts().iter();
    let hosts = hosts.map(|host| format!("{}:{}", host.host, host.port));
    let mut nodes = asker.look_at_all(hosts.collect()).await;
    let leader = nodes.iter().find_map(|(_, cause)| cause.leader());
    let unlisted = leader.filter(|leader| nodes.iter().all(|(node, _)| node != leader));
    let unlisted = unlisted.map(str::to_owned);
    let is_last_unlisted = unlisted.is_some();
    if let Some(leader) = unlisted {
        nodes.extend(asker.look_at_all(vec![leader]).await);
    }
    Finding::of(&nodes, is_last_unlisted, address, said)
}

/// A client for the gossip of nodes.
#[derive(Clone)]
struct Asker {
    is_secure: bool,
    /// Trusts whom the settings trust.
    strict: Client,
    /// Trusts every certificate, and never sends the user.
    lenient: Client,
    user: Option<(String, String)>,
}

impl Asker {
    fn of(address: &Address) -> Result<Asker, String> {
        provide_tls();
        let settings = address.settings();
        let is_secure = settings.is_secure_mode_enabled();
        let mut strict = builder();
        if !is_secure || !settings.is_tls_certificate_verification_enabled() {
            strict = strict.tls_danger_accept_invalid_certs(true);
        } else if let Some(path) = settings.tls_ca_file() {
            let trusted = certificates("tlsCaFile", path)?;
            let trusted = trusted.iter().map(|der| Certificate::from_der(der));
            let trusted: Vec<Certificate> = built(trusted.collect())?;
            strict = strict.tls_certs_only(trusted);
        }
        if let Some((certificate, key)) = settings.user_certificate() {
            let mut pem = content("userCertFile", certificate)?;
            pem.push(b'\n');
            pem.extend(content("userKeyFile", key)?);
            strict = strict.identity(built(Identity::from_pem(&pem))?);
        }
        let strict = match strict.build() {
            // A machine that has no CA trusts no certificate.
            Err(_) if settings.tls_ca_file().is_none() => builder().tls_certs_only([]).build(),
            strict => strict,
        };
        let lenient = builder().tls_danger_accept_invalid_certs(true).build();
        Ok(Asker {
            is_secure,
            strict: built(strict)?,
            lenient: built(lenient)?,
            user: address.user(),
        })
    }

    /// Looks at nodes at the same time, at each no longer than [`PATIENCE`].
    async fn look_at_all(&self, nodes: Vec<String>) -> Vec<(String, Cause)> {
        let mut looks = JoinSet::new();
        for (place, node) in nodes.iter().cloned().enumerate() {
            let asker = self.clone();
            looks.spawn(async move { (place, asker.look_at(&node).await) });
        }
        let nodes = nodes.into_iter();
        let mut found: Vec<_> = nodes.map(|node| (node, Cause::Silent)).collect();
        while let Some(look) = looks.join_next().await {
            if let Ok((place, cause)) = look
                && let Some((_, known)) = found.get_mut(place)
            {
                *known = cause;
            }
        }
        found
    }

    async fn look_at(&self, node: &str) -> Cause {
        let until = Instant::now() + PATIENCE;
        let asked = timeout_at(until, self.ask(node)).await;
        let cause = asked.unwrap_or(Cause::Silent);
        // A node that uses TLS and is asked without looks like this, and the other way round.
        if !matches!(cause, Cause::NotHttp | Cause::Status(400)) {
            return cause;
        }
        let is_other = timeout_at(until, self.answers_otherwise(node)).await;
        match (is_other.unwrap_or(false), self.is_secure) {
            (false, _) => cause,
            (true, true) => Cause::NoTls,
            (true, false) => Cause::OnlyTls,
        }
    }

    async fn ask(&self, node: &str) -> Cause {
        let known = lookup_host(node).await;
        if !known.is_ok_and(|mut addresses| addresses.next().is_some()) {
            return Cause::Unresolved;
        }
        let mut request = self.strict.get(url(self.is_secure, node));
        if let Some((name, password)) = &self.user {
            request = request.basic_auth(name, Some(password));
        }
        match answer(request).await {
            Ok((status, body)) => of_answer(status, &body),
            Err(error) => of_error(&error),
        }
    }

    /// Returns true if the node answers with TLS where the settings have none, or without it where
    /// they have it.
    async fn answers_otherwise(&self, node: &str) -> bool {
        match self.lenient.get(url(!self.is_secure, node)).send().await {
            Ok(_) => true,
            // A node that refuses in TLS speaks it.
            Err(error) => !self.is_secure && chain(&error).any(is_refusal_in_tls),
        }
    }
}

fn is_refusal_in_tls(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<rustls::Error>();
    error.is_some_and(|error| !matches!(error, rustls::Error::InvalidMessage(_)))
}

fn builder() -> ClientBuilder {
    let builder = Client::builder().http1_only().no_proxy();
    builder.redirect(Policy::none())
}

/// Installs *ring*, where the process has no default provider yet.
fn provide_tls() {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster, and then there is a provider too.
        drop(ring::default_provider().install_default());
    }
}

fn built<T>(built: reqwest::Result<T>) -> Result<T, String> {
    built.map_err(|error| {
        let last = chain(&error).last();
        let last = last.map_or_else(String::new, |error| bounded(&error.to_string()));
        format!(
            "no TLS client can be made with the files that the log's URL names ({last}). Correct \
             tlsCaFile, userCertFile and userKeyFile"
        )
    })
}

fn url(is_secure: bool, node: &str) -> String {
    let scheme = if is_secure { "https" } else { "http" };
    format!("{scheme}://{node}/gossip?format=json")
}

/// Returns the status and the body of an answer; no more of the body than a gossip has.
async fn answer(request: RequestBuilder) -> reqwest::Result<(StatusCode, Vec<u8>)> {
    let mut response = request.send().await?;
    let (status, mut body) = (response.status(), Vec::new());
    while status == StatusCode::OK
        && body.len() <= MAX_GOSSIP_BYTES
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok((status, body))
}
