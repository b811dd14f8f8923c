//! The page of an initiator's own process where a person answers what its loop asks.
//!
//! It listens on 127.0.0.1 alone and is plain HTML without script. A link is good once and for ten
//! minutes; whoever opens it has a session in a cookie. Others on this computer know neither, and a
//! page of another site cannot use the cookie: Host and Origin are checked, and the cookie stays on
//! this site. What the page shows comes from a stranger and is escaped.

mod doors;
mod view;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use x811_client::agent::{Answer, Approvals, DecisionFault, Seen};
use x811_client::clock::Clock;
use x811_client::entropy::{Entropy, EntropyError};
use x811_protocol::money::MicroUsdc;

use crate::failure::Failure;
use doors::Doors;

/// The cookie of a session.
const COOKIE_NAME: &str = "x811_approvals";

/// The longest form, in bytes.
const FORM_BYTES: usize = 8 << 10;

/// Connections at the same time.
const CONNECTIONS: usize = 16;

/// The page, and who may see it.
pub(crate) struct Page {
    /// Host and port.
    authority: String,
    approvals: Approvals,
    doors: Doors,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Page {
    /// Takes that port of 127.0.0.1, any free one for 0.
    pub(crate) async fn listen(
        port: u16,
        approvals: Approvals,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<(Arc<Page>, TcpListener), Failure> {
        let failed = |error| {
            Failure::local("page", format!("port {port} of 127.0.0.1: {error}"))
                .hint("name another port in approvals_port, or 0 for any free one")
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let authority = listener.local_addr().map_err(failed)?.to_string();
        let page = Page {
            authority,
            approvals,
            doors: Doors::default(),
            clock,
            entropy,
        };
        Ok((Arc::new(page), listener))
    }

    /// A link that opens the page once; the one before it opens nothing any more.
    pub(crate) fn link(&self) -> Result<String, EntropyError> {
        let code = self.doors.code(&*self.entropy, self.clock.now())?;
        Ok(format!("http://{}/in/{code}", self.authority))
    }

    /// Answers for ever.
    pub(crate) async fn serve(self: Arc<Page>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            if connections.len() >= CONNECTIONS {
                connections.join_next().await;
            }
            while connections.try_join_next().is_some() {}
            // One that was gone before it was taken is none.
            if let Ok((stream, _)) = listener.accept().await {
                let page = self.clone();
                connections.spawn(async move {
                    let service = service_fn(|request| {
                        let page = page.clone();
                        async move { Ok::<_, Infallible>(page.answer(request).await) }
                    });
                    // Whoever goes away in the middle is nobody's fault.
                    let _ = http1::Builder::new()
                        .keep_alive(false)
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<String> {
        let (head, body) = request.into_parts();
        let form = match head.method {
            Method::POST => read(body).await,
            _ => Some(String::new()),
        };
        match form {
            Some(form) => self.respond(&head, &form),
            None => refusal(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long"),
        }
    }

    fn respond(&self, head: &Parts, form: &str) -> Response<String> {
        let own = self.authority.as_str();
        if only(head, HOST.as_str()) != Some(own) {
            return refusal(
                StatusCode::MISDIRECTED_REQUEST,
                "this page has another address",
            );
        }
        let now = self.clock.now();
        if let (&Method::GET, Some(code)) = (&head.method, head.uri.path().strip_prefix("/in/")) {
            return match self.doors.enter(code, &*self.entropy, now) {
                Ok(Some(session)) => entered(&session),
                Ok(None) => refusal(
                    StatusCode::FORBIDDEN,
                    "the link was used, or is too old, or there is a newer one: the loop prints \
                     one with each question",
                ),
                Err(_) => refusal(StatusCode::SERVICE_UNAVAILABLE, "no randomness"),
            };
        }
        if !self.doors.is_inside(session_of(head), now) {
            let what = "open the link that the loop printed last";
            return refusal(StatusCode::FORBIDDEN, what);
        }
        match (&head.method, head.uri.path()) {
            (&Method::GET, "/") => match self.approvals.list() {
                Ok(questions) => shown(StatusCode::OK, view::page(&questions, now)),
                Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
            },
            (&Method::POST, "/decide") => {
                if only(head, ORIGIN.as_str()) != Some(format!("http://{own}").as_str()) {
                    return refusal(StatusCode::FORBIDDEN, "the form is not of this page");
                }
                self.decide(form)
            }
            _ => refusal(StatusCode::NOT_FOUND, "there is nothing here"),
        }
    }

    /// The decision names the OFFER and the total that the page showed.
    fn decide(&self, form: &str) -> Response<String> {
        let member = |name: &str| {
            let mut all = form_urlencoded::parse(form.as_bytes());
            let found = all.find(|(known, _)| known == name);
            found
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        let answer = match member("answer").as_str() {
            "approve" => Answer::Approve,
            "reject" => Answer::Reject,
            _ => return refusal(StatusCode::BAD_REQUEST, "approve or reject"),
        };
        let total = member("total_micro_usdc").parse().ok();
        let total = total.and_then(|total| MicroUsdc::from_micro_usdc(total).ok());
        let (Ok(interaction), Ok(offer_hash), Some(total)) = (
            member("interaction").parse(),
            member("offer_hash").parse(),
            total,
        ) else {
            return refusal(StatusCode::BAD_REQUEST, "the form is not of this page");
        };
        let seen = Seen {
            total: Some(total),
            offer_hash: Some(offer_hash),
        };
        let reason = Some(member("reason")).filter(|reason| !reason.is_empty());
        let decided = self
            .approvals
            .decide(interaction, answer, seen, reason, self.clock.now());
        match decided {
            Ok(_) => moved("/").body(String::new()).unwrap_or_default(),
            Err(DecisionFault::File(error)) => {
                refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
            }
            Err(fault) => refusal(StatusCode::CONFLICT, &fault.to_string()),
        }
    }
}

async fn read(mut body: Incoming) -> Option<String> {
    let mut bytes = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        if let Ok(data) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > FORM_BYTES {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The value of a field that is there exactly once.
fn only<'a>(head: &'a Parts, name: &str) -> Option<&'a str> {
    let mut values = head.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

fn session_of(head: &Parts) -> &str {
    let cookies = only(head, COOKIE.as_str()).unwrap_or_default();
    let mut named = cookies.split(';').filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE_NAME).then_some(value)
    });
    named.next().unwrap_or_default()
}

fn guarded(status: StatusCode) -> hyper::http::response::Builder {
    let policy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "text/html; charset=utf-8")
        .header(CONTENT_SECURITY_POLICY, policy)
        .header(CACHE_CONTROL, "no-store")
        // `same-origin`, not `no-referrer`: with that a browser sends the form's Origin as null.
        .header(REFERRER_POLICY, "same-origin")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
}

fn moved(to: &str) -> hyper::http::response::Builder {
    guarded(StatusCode::SEE_OTHER).header(LOCATION, to)
}

fn entered(session: &str) -> Response<String> {
    let cookie = format!("{COOKIE_NAME}={session}; HttpOnly; SameSite=Strict; Path=/");
    let answer = moved("/").header(SET_COOKIE, cookie);
    // A browser does not send a strict cookie with the redirect of a link from elsewhere.
    answer.body(view::door()).unwrap_or_default()
}

fn shown(status: StatusCode, html: String) -> Response<String> {
    guarded(status).body(html).unwrap_or_default()
}

fn refusal(status: StatusCode, what: &str) -> Response<String> {
    shown(status, view::refusal(what))
}

#[cfg(test)]
mod tests;
