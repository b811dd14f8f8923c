//! The HTTP interface, described for programs: OpenAPI 3.1 at `/openapi.json`, rendered at `/docs`.
//!
//! A route and its description are added in one call ([`Routes::add`]) from one place, the
//! attribute on the handler, so neither can exist without the other; where one handler serves subjects of several
//! kinds, `routes::subjects` adds what differs ([`Routes::add_for`]). Types that are answered describe
//! themselves (`x811_protocol::answer`, and beside their handlers); what is put together otherwise has its
//! schema in `schema` and the files beside it, and is tested from outside, over the running server.

mod absent;
pub(crate) mod capability;
pub(crate) mod discovery;
pub(crate) mod negotiation;
pub(crate) mod of_kind;
pub(crate) mod payloads;
mod refused;
pub(crate) mod round;
pub(crate) mod schema;
mod security;

pub(crate) use refused::Refused;

use of_kind::{OfKind, Schemas};
use payloads::Payloads;
use security::Schemes;

use crate::error::ApiError;
use axum::Router;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::path::Paths;
use utoipa::{OpenApi, openapi};
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
    // Nothing that is answered names the second one, and what paths name is not collected.
    components(schemas(schema::ErrorPayload, schema::AgentUuid)),
)]
struct Description;

/// What the attribute on a handler says of its operation, with the schemas that it names.
pub(crate) trait Described: utoipa::Path + Tags<'static> + SchemaReferences {}

impl<T: utoipa::Path + Tags<'static> + SchemaReferences> Described for T {}

/// Routes, and what is said of them.
pub(crate) struct Routes<S> {
    router: Router<S>,
    paths: Paths,
    schemas: Schemas,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    pub(crate) fn new() -> Self {
        Routes {
            router: Router::new(),
            paths: Paths::new(),
            schemas: Schemas::new(),
        }
    }

    /// Adds the operation that `P` describes; `handler` serves it.
    pub(crate) fn add<P: Described>(mut self, handler: MethodRouter<S>) -> Self {
        let path = P::path();
        self.router = self.router.route(&path, handler);
        self.describe::<P>(path, None);
        self
    }

    /// The same for an operation on subjects of one kind.
    pub(crate) fn add_for<P: Described>(mut self, kind: OfKind, handler: MethodRouter<S>) -> Self {
        let path = P::path().replace("{kind}", kind.path);
        self.router = self.router.route(&path, handler);
        self.describe::<P>(path, Some(kind));
        self
    }

    /// The same for an operation whose last parameter is a path of several parts, which OpenAPI
    /// has no word for.
    pub(crate) fn add_below<P: Described>(mut self, handler: MethodRouter<S>) -> Self {
        let path = P::path();
        let below = path.rfind('{').map_or_else(
            || path.clone(),
            |at| format!("{}{{*{}", &path[..at], &path[at + 1..]),
        );
        self.router = self.router.route(&below, handler);
        self.describe::<P>(path, None);
        self
    }

    fn describe<P: Described>(&mut self, path: String, kind: Option<OfKind>) {
        let mut operation = P::operation();
        // What the macro says of tags it leaves to who collects operations.
        let tags = P::tags().into_iter().map(str::to_owned);
        operation.tags = Some(tags.collect());
        if let Some(kind) = kind {
            kind.complete(&mut operation, &mut self.schemas);
        }
        self.paths.add_path_operation(path, P::methods(), operation);
        P::schemas(&mut self.schemas);
    }

    /// The routes, with their description and its page.
    pub(crate) fn described(self) -> Router<S> {
        let (router, description) = self.apart();
        let page: Router<S> = SwaggerUi::new(PAGE).url(DESCRIPTION, description).into();
        router.merge(page.layer(map_response(with_policy)))
    }

    fn apart(self) -> (Router<S>, openapi::OpenApi) {
        let mut description = Description::openapi();
        description.paths = self.paths;
        let schemas = &mut description.components.get_or_insert_default().schemas;
        for (name, schema) in self.schemas {
            // What a modifier put there is not the macro's.
            schemas.entry(name).or_insert(schema);
        }
        schemas.values_mut().for_each(absent::settle);
        (self.router, description)
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
    if answer.status() == StatusCode::NOT_FOUND {
        return ApiError::not_found("the page has no such file: it begins at /docs/")
            .into_response();
    }
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY);
    answer
}

#[cfg(test)]
mod tests {
    use crate::routes;
    use serde_json::Value;
    use x811_ledger::clock::SystemClock;

    fn description() -> Value {
        let (_, description) = routes::all::<SystemClock>().apart();
        serde_json::to_value(description).unwrap()
    }

    /// Every `$ref` of the description leads to a schema.
    #[test]
    fn no_reference_dangles() {
        let description = description();
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
        let description = description();
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
