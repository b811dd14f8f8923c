//! Why a command did not do what it was asked: a code, what happened, what to do next.

use serde_json::{Value, json};
use x811_client::agent::{LoopError, StateError};
use x811_client::compose::ComposeError;
use x811_client::entropy::EntropyError;
use x811_client::home::HomeError;
use x811_client::http::{ClientError, Refused};
use x811_client::pay::PayError;
use x811_client::round::RoundError;
use x811_protocol::code::Code;
use x811_protocol::refusal::Refusal;

use crate::exit::Exit;

/// Why a command did not do what it was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// `X811-NNNN` where the protocol has one, else a word of this program.
    pub code: String,
    /// What happened; may quote an agent or the network, so print it escaped.
    pub message: String,
    /// What to do next, where the message does not say it.
    pub what_to_do: String,
    /// More for a program.
    pub details: Option<Value>,
}

impl Failure {
    /// Whether the same may succeed in a moment: nobody answered, or there was no room.
    pub fn is_transient(&self) -> bool {
        self.exit == Exit::Unreachable || self.code == "X811-9001" || self.code == "X811-9002"
    }

    /// A failure without a next step.
    pub fn new(exit: Exit, code: &str, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            code: code.to_owned(),
            message: message.into(),
            what_to_do: String::new(),
            details: None,
        }
    }

    /// A command line that makes no sense.
    pub fn usage(message: &str) -> Failure {
        let message = message.trim().trim_start_matches("error: ");
        Failure::new(Exit::Usage, "usage", message)
            .hint("run the command with --help to see what it takes")
    }

    /// A check before sending said no. The message says what to do; the registry adds a word where the
    /// code has one meaning, which X811-4001 has not.
    pub fn refused(code: Code, message: impl Into<String>) -> Failure {
        let failure = Failure::new(Exit::Refused, code.as_str(), message);
        if code == Code::InvalidStateTransition {
            return failure;
        }
        failure.hint(code.what_to_do())
    }

    /// What the log says already does not allow it; the command line is right.
    pub fn state(message: impl Into<String>) -> Failure {
        Failure::refused(Code::InvalidStateTransition, message)
    }

    /// A file or key on this computer.
    pub fn local(code: &str, message: impl Into<String>) -> Failure {
        Failure::new(Exit::Local, code, message)
    }

    /// An answer of the ledger that does not hold.
    pub fn untrusted(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Untrusted, "untrusted", message)
    }

    /// The same of a file that is verified offline: broken, as an audit says it.
    pub fn broken(self) -> Failure {
        Failure {
            exit: Exit::Findings,
            code: "broken".to_owned(),
            ..self
        }
    }

    /// What must not happen.
    pub fn internal(message: &str) -> Failure {
        Failure::new(Exit::Local, "internal", message)
            .hint("try again; if it stays, report it with the command you ran")
    }

    /// Says what to do next.
    pub fn hint(mut self, what_to_do: impl Into<String>) -> Failure {
        self.what_to_do = what_to_do.into();
        self
    }

    /// Adds what a program may want to read.
    pub fn with_details(mut self, details: Value) -> Failure {
        self.details = Some(details);
        self
    }

    /// The form of `--json`.
    pub fn to_json(&self) -> Value {
        let mut error = json!({
            "code": self.code,
            "message": self.message,
            "what_to_do": self.what_to_do,
            "exit": self.exit.code(),
        });
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        json!({ "error": error })
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let text = error.to_string();
        match error {
            ClientError::Refused(refused) => refused_by_ledger(*refused),
            ClientError::Unreachable { url, cause } => {
                let start = "start a ledger with `x811 serve`, or name one with --ledger URL";
                Failure::new(Exit::Unreachable, "unreachable", text)
                    .hint(other_scheme(&cause).unwrap_or(start))
                    .with_details(json!({ "url": url }))
            }
            ClientError::NotALedger { cause, .. } => {
                let hint = other_scheme(&cause).unwrap_or("name the ledger with --ledger URL");
                Failure::new(Exit::Untrusted, "not_a_ledger", text).hint(hint)
            }
            ClientError::Untrusted { .. } => Failure::new(Exit::Untrusted, "untrusted", text)
                .hint("ask for an export of the log and run `x811 audit` on it"),
            ClientError::Erased { .. } => Failure::local("erased", text),
            ClientError::Address { .. } => Failure::usage(&text),
            ClientError::Entropy(error) => error.into(),
            ClientError::Setup { .. } => Failure::local("tls", text),
        }
    }
}

/// How it shows that whoever was asked in the clear speaks TLS: hyper's words for the alert that it
/// answers, in two forms, our client's for the page of a web server, and those of nginx, Go and Apache.
const OF_TLS: [&str; 6] = [
    "invalid HTTP version",
    "Parse(Version)",
    "speaks https",
    "HTTPS port",
    "HTTPS server",
    "SSL-enabled server",
];

/// What to do about an address with another scheme than whoever listens there; `None` where the cause
/// says nothing of that.
pub fn other_scheme(cause: &str) -> Option<&'static str> {
    // rustls, of an answer in the clear.
    if cause.contains("InvalidContentType") {
        return Some("what listens there speaks http: write http:// instead of https://");
    }
    let speaks_tls = OF_TLS.iter().any(|words| cause.contains(words));
    speaks_tls.then_some("what listens there speaks https: write https:// instead of http://")
}

/// What to do about a call that the endpoint refused, by the words of USDC's contract.
fn what_helps(cause: &str) -> &'static str {
    let cause = cause.to_lowercase();
    if cause.contains("paused") {
        "the token is paused: nobody can pay with it until its issuer lets it go on; run this again \
         then, nothing was sent"
    } else if cause.contains("blacklist") {
        "the token's issuer has blacklisted the payer's account or the payee's: no transfer between \
         them succeeds; nothing was sent"
    } else {
        "the account may lack ETH for gas; else see what the endpoint says"
    }
}

fn refused_by_ledger(refused: Refused) -> Failure {
    let failure = Failure {
        details: refused.details,
        ..Failure::refused(refused.code, refused.message)
    };
    // Envelopes always leave this program signed: only another request can lack a signature, or come
    // from an agent that may not make it.
    if refused.code == Code::MissingCredentials {
        return failure.hint("say with --agent NAME which of your agents asks: one that may");
    }
    // The signature is for another authority than the ledger's: the key is not at fault.
    let details = failure.details.as_ref();
    if details.is_some_and(|details| details.get("authorities").is_some()) {
        return failure.hint("give --ledger one of the authorities that the message names");
    }
    failure
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Failure {
        let code = match &error {
            StateError::Running { .. } => "running",
            StateError::Damaged { .. } => "damaged_state",
            StateError::Other { .. } => "other_state",
            StateError::File(_) => "file",
        };
        Failure::local(code, error.to_string())
    }
}

impl From<LoopError> for Failure {
    fn from(error: LoopError) -> Failure {
        let text = error.to_string();
        match error {
            LoopError::State(error) => error.into(),
            LoopError::Client(error) => error.into(),
            LoopError::Compose(error) => error.into(),
            LoopError::Entropy(error) => error.into(),
            LoopError::OtherLedger { .. } => Failure::untrusted(text),
            LoopError::NoNetwork { .. } | LoopError::NoCaps => {
                Failure::usage(&text).hint("docs/agents.md lists what the file may say")
            }
            LoopError::Replaced => Failure::local("replaced", text)
                .hint("one loop of an agent runs at a time; leave the other one running"),
        }
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Failure {
        let code = match &error {
            HomeError::Missing { .. } => "no_such_file",
            HomeError::Exists { .. } => "exists",
            HomeError::Busy { .. } => "busy",
            HomeError::Open { .. } => "open_file",
            HomeError::Identity { .. } => "damaged_file",
            HomeError::Io { .. } => "file",
        };
        Failure::local(code, error.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure {
            details: refusal.details,
            ..Failure::refused(refusal.code, format!("not sent: {}", refusal.message))
        }
    }
}

impl From<EntropyError> for Failure {
    fn from(error: EntropyError) -> Failure {
        Failure::local("entropy", error.to_string())
    }
}

impl From<ComposeError> for Failure {
    fn from(error: ComposeError) -> Failure {
        match error {
            ComposeError::Refused(refusal) => refusal.into(),
            ComposeError::Entropy(error) => error.into(),
            ComposeError::Budget(_) | ComposeError::TotalTooLarge => {
                Failure::usage(&error.to_string())
            }
            ComposeError::Wallet(_) => Failure::local("wallet", error.to_string()),
        }
    }
}

impl From<PayError> for Failure {
    fn from(error: PayError) -> Failure {
        let text = error.to_string();
        match error {
            PayError::Endpoint => Failure::usage(&text),
            PayError::Unreachable { cause, .. } => {
                let failure = Failure::new(Exit::Unreachable, "rpc", text);
                match other_scheme(&cause) {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            PayError::Refused { cause, .. } => {
                Failure::new(Exit::Refused, "rpc_refused", text).hint(what_helps(&cause))
            }
            PayError::OtherChain { .. } | PayError::NoToken { .. } => {
                Failure::new(Exit::Refused, "other_chain", text)
            }
            PayError::NotUsdc { .. } => Failure::new(Exit::Refused, "not_usdc", text),
            PayError::TooPoor { .. } => Failure::refused(Code::InsufficientBalance, text),
            PayError::Unsigned => Failure::local("wallet", text),
            PayError::Damaged => Failure::local("damaged_transfer", text),
            PayError::NoAuthorizations { .. } => {
                Failure::new(Exit::Refused, "no_authorizations", text)
                    .hint("pay with --plain-transfer")
            }
            PayError::Cancelled { .. } => Failure::refused(Code::PaymentFailed, text)
                .hint("pay with --plain-transfer, once no transfer is kept for the interaction"),
            PayError::SpentUnseen { .. } => Failure::refused(Code::PaymentFailed, text)
                .hint("x811 send payment INTERACTION --tx HASH --authorization-nonce NONCE"),
            PayError::FeesTooHigh { .. } => Failure::new(Exit::Refused, "fees_too_high", text),
            PayError::Replaced { .. } => Failure::refused(Code::PaymentFailed, text),
        }
    }
}

impl From<RoundError> for Failure {
    fn from(error: RoundError) -> Failure {
        let text = error.to_string();
        match error {
            RoundError::Compose(error) => error.into(),
            RoundError::Client(error) => error.into(),
            RoundError::Entropy(error) => error.into(),
            RoundError::NotAProposal { .. } => Failure::usage(&text),
            RoundError::Undecided { .. } => Failure::local("undecided", text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};

    use super::*;

    #[test]
    fn a_refusal_of_the_ledger_keeps_its_code_and_says_what_to_do() {
        let refusal = Refusal::guard(Code::OfferHashMismatch, "another hash");
        let failure = Failure::from(refusal);
        assert_eq!(failure.exit, Exit::Refused);
        let json = failure.to_json();
        assert_eq!(json["error"]["code"], "X811-4010");
        assert_eq!(json["error"]["exit"], 1);
        assert_eq!(
            json["error"]["what_to_do"],
            Code::OfferHashMismatch.what_to_do()
        );
        assert!(json["error"].get("details").is_none());
    }

    #[test]
    fn a_read_signed_for_another_authority_needs_another_address_and_no_other_key() {
        let refused = Refused {
            status: 401,
            code: Code::SignatureInvalid,
            message: "sign the authority ledger.example.org".to_owned(),
            related_message_id: None,
            details: Some(json!({ "authorities": ["ledger.example.org"] })),
        };
        let failure = Failure::from(ClientError::Refused(Box::new(refused)));
        assert!(failure.what_to_do.contains("--ledger"), "{failure:?}");
    }

    #[test]
    fn nobody_there_is_exit_3_and_names_the_address() {
        let failure = Failure::from(ClientError::Unreachable {
            url: "http://127.0.0.1:8811/".to_owned(),
            cause: "connection refused".to_owned(),
        });
        assert_eq!(failure.exit.code(), 3);
        assert_eq!(
            failure.to_json()["error"]["details"]["url"],
            "http://127.0.0.1:8811/"
        );
        assert!(failure.what_to_do.contains("x811 serve"));
    }

    /// What a server of TLS answers to `GET / HTTP/1.1`: an alert, or a page of a web server.
    #[tokio::test]
    async fn http_at_an_https_port_says_which_scheme_to_write() {
        const ALERT: &[u8] = &[21, 3, 1, 0, 2, 2, 70];
        const NGINX: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n\
            <center>The plain HTTP request was sent to HTTPS port</center>";
        const GO: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\n\
            Client sent an HTTP request to an HTTPS server.\n";
        let _ = rustls::crypto::ring::default_provider().install_default();
        for answer in [ALERT, NGINX, GO] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut head = BufReader::new(&stream).lines();
                    while head.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                    stream.write_all(answer).unwrap();
                }
            });
            let client = x811_client::http::LedgerClient::new(&url).unwrap();
            let failure = Failure::from(client.info().await.unwrap_err());
            let said = &failure.what_to_do;
            assert!(
                said.contains("write https:// instead of http://"),
                "{failure:?}"
            );
        }
    }
}
