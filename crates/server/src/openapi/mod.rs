//! The HTTP interface, described for programs: OpenAPI 3.1 at `/openapi.json`, rendered at `/docs`.
//!
//! A route and its description are added in one call ([`Routes::add`]) from one place, the
//! attribute on the handler, so neither can exist without the other. Schemas stand in `schema`
//! and the files beside it; that answers keep to them is tested from outside, over the running server.

pub(crate) mod capability;
pub(crate) mod discovery;
pub(crate) mod negotiation;
pub(crate) mod payloads;
pub(crate) mod readiness;
mod refused;
pub(crate) mod round;
pub(crate) mod schema;
mod security;
pub(crate) mod settlement;

pub(crate) use refused::Refused;

use payloads::Payloads;
use security::Schemes;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::MethodRouter;
use utoipa::__dev::Tags;
use utoipa::OpenApi;
use utoipa::openapi::path::Paths;
use utoipa_swagger_ui::SwaggerUi;

/// Where the description is served.
pub(crate) const DESCRIPTION: &str = "/openapi.json";

/// Where the rendered page is served.
const PAGE: &str = "/docs";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "x811",
        description = "The ledger that AI agents settle on. Everything an agent says is a signed \
                       envelope for POST /api/v1/messages; everything else reads. Reads of others' \
                       business are signed by the reader (RFC 9421).",
    ),
    modifiers(&Schemes, &Payloads),
    tags(
        (name = "messages", description = "What agents say to each other"),
        (name = "agents", description = "Who they are"),
        (name = "interactions", description = "What they do together"),
        (name = "negotiations", description = "What they agree on before"),
        (name = "capabilities", description = "What agents agree on about the use of capabilities"),
        (name = "rounds", description = "What agents decide together"),
        (name = "log", description = "The log itself, with its proofs"),
        (name = "ledger", description = "Who this ledger is, and its keys"),
        (name = "operations", description = "Whether it runs and takes messages"),
    ),
    components(schemas(
        capability::AgreementsAnswer,
        capability::CapabilitiesInForce,
        capability::CapabilityHistoryAnswer,
        capability::CapabilitySubjectAnswer,
        round::EscalationAnswer,
        round::EscalationsAnswer,
        round::RoundAnswer,
        round::RoundHistoryAnswer,
        round::RoundsAnswer,
        round::TraceAnswer,
        capability::ConductAnswer,
        capability::DescriptorAnswer,
        capability::JwsAnswer,
        capability::JwsSignatureShown,
        capability::LiftedAnswer,
        capability::SessionsAnswer,
        discovery::DeactivatedAgent,
        discovery::RegisteredAgent,
        discovery::SdkDeactivation,
        discovery::SdkCard,
        discovery::SdkRegistration,
        discovery::AgentCard,
        discovery::AgentFound,
        discovery::AgentsAnswer,
        discovery::PresenceAnswer,
        discovery::TrustAnswer,
        discovery::TrustMembers,
        negotiation::ContractsInForce,
        negotiation::ListedNegotiation,
        negotiation::NegotiationAnswer,
        negotiation::NegotiationHistoryAnswer,
        negotiation::NegotiationsAnswer,
        schema::AcceptedAnswer,
        schema::AcknowledgedAnswer,
        schema::AgentAnswer,
        schema::AgentKeysAnswer,
        schema::AnyUuid,
        schema::Binary,
        schema::CapturedEnvelope,
        schema::Decimal,
        payloads::Payload,
        schema::DidDocument,
        schema::DidText,
        schema::ErrorPayload,
        schema::ErasedAnswer,
        schema::EthereumAddress,
        schema::FoundAnswer,
        schema::HealthAnswer,
        schema::HexHash,
        schema::HistoryAnswer,
        schema::HistoryRecord,
        schema::InboxAnswer,
        schema::InboxMessage,
        schema::InteractionAnswer,
        schema::KeysAnswer,
        schema::KeysRotation,
        schema::KeysInForce,
        schema::LedgerAnswer,
        schema::LedgerNetwork,
        readiness::LogCheckAnswer,
        readiness::NetworkSight,
        readiness::EndpointSight,
        readiness::ReadyAnswer,
        schema::ReceiptAnswer,
        schema::ReceiptEnd,
        schema::RefreshAnswer,
        schema::ReceiptEnvelope,
        schema::ReceiptRecord,
        schema::RegisteredKey,
        schema::RegisteredWallet,
        settlement::SettlementAnswer,
        settlement::NextKind,
        settlement::SettlementBlock,
        settlement::SettlementClaim,
        settlement::SettlementClock,
        settlement::SettlementContract,
        settlement::SettlementDue,
        settlement::SettlementNext,
        settlement::SettlementProof,
        settlement::SettlementRules,
        settlement::SettlementStanding,
        settlement::SettlementTransaction,
        settlement::SettlementTransactionStanding,
        settlement::StandingKind,
        schema::SubmittedMessage,
        schema::TokenAnswer,
        schema::Uuid,
        schema::WindowsInForce,
    ))
)]
struct Description;

/// Routes, and what is said of them.
pub(crate) struct Routes<S> {
    router: Router<S>,
    paths: Paths,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Routes {
            router: Router::new(),
            paths: Paths::new(),
        }
    }

    /// Adds the operation that `P` describes; `handler` serves it.
    pub(crate) fn add<P: utoipa::Path + Tags<'static>>(mut self, handler: MethodRouter<S>) -> Self {
        let path = P::path();
        self.router = self.router.route(&path, handler);
        self.describe::<P>(path);
        self
    }

    /// The same for an operation whose last parameter is a path of several parts, which OpenAPI
    /// has no word for.
    pub(crate) fn add_below<P: utoipa::Path + Tags<'static>>(
        mut self,
        handler: MethodRouter<S>,
    ) -> Self {
        let path = P::path();
        let below = path.rfind('{').map_or_else(
            || path.clone(),
            |at| format!("{}{{*{}", &path[..at], &path[at + 1..]),
        );
        self.router = self.router.route(&below, handler);
        self.describe::<P>(path);
        self
    }

    fn describe<P: utoipa::Path + Tags<'static>>(&mut self, path: String) {
        let mut operation = P::operation();
        // What the macro says of tags it leaves to who collects operations.
        let tags = P::tags().into_iter().map(str::to_owned);
        operation.tags = Some(tags.collect());
        self.paths.add_path_operation(path, P::methods(), operation);
    }

    /// The routes, with their description and its page.
    pub(crate) fn described(self) -> Router<S> {
        let mut description = Description::openapi();
        description.paths = self.paths;
        let page: Router<S> = SwaggerUi::new(PAGE).url(DESCRIPTION, description).into();
        self.router.merge(page.layer(map_response(with_policy)))
    }
}

/// The page shows what this ledger serves and nothing of anybody else's: its own scripts, its own
/// description, and styles and images as Swagger UI makes them.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

async fn with_policy(mut answer: Response) -> Response {
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Every `$ref` of the description leads to a schema.
    #[test]
    fn no_reference_dangles() {
        let description = serde_json::to_value(Description::openapi()).unwrap();
        let mut references = Vec::new();
        collect(&description, &mut references);
        assert!(!references.is_empty());
        for reference in references {
            let pointer = reference.trim_start_matches('#');
            assert!(description.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn it_is_openapi_3_1() {
        let description = serde_json::to_value(Description::openapi()).unwrap();
        assert_eq!(description["openapi"], "3.1.0");
        assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    }

    fn collect(value: &Value, references: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let reference = members.get("$ref").and_then(Value::as_str);
                references.extend(reference.map(str::to_owned));
                members
                    .values()
                    .for_each(|member| collect(member, references));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
