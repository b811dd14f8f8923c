//! axum HTTP, configuration, wiring.
