//! How requests show who sends them.

use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};

/// All of them. OpenAPI has no word for RFC 9421, whose two fields go together.
pub(super) struct Schemes;

impl Modify for Schemes {
    fn modify(&self, description: &mut OpenApi) {
        let field = |name, description| {
            SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(
                name,
                description,
            )))
        };
        let schemes = [
            (
                "signature_input",
                field(
                    "Signature-Input",
                    "RFC 9421: `sig=(\"@method\" \"@authority\" \"@path\" \"@query\");created=…;\
                     nonce=\"…\";keyid=\"<DID>#<key>\";alg=\"ed25519\"`, with a nonce of 16 to 64 \
                     printable characters that is new for each request, not older than 60 s",
                ),
            ),
            (
                "signature",
                field(
                    "Signature",
                    "RFC 9421: `sig=:…:`, Ed25519 over the signature base, in base64",
                ),
            ),
            (
                "bearer",
                SecurityScheme::Http(Http::builder().scheme(HttpAuthScheme::Bearer).build()),
            ),
            (
                "feed_token",
                SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
                    "token",
                    "A token with scope `feed`, for an EventSource",
                ))),
            ),
        ];
        let components = description.components.get_or_insert_default();
        for (name, scheme) in schemes {
            components.add_security_scheme(name, scheme);
        }
    }
}
