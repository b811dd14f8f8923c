//! Log lines to standard error, and spans to an OpenTelemetry collector where one is named.
//!
//! Spans say how long a message was where, and nothing of what it says. The exporter has a thread
//! of its own; what it cannot deliver is dropped, so a silent collector costs the ledger nothing.
//! The `OTEL_…` variables of the OpenTelemetry specification (headers, sampler, batches) hold.

use std::io::IsTerminal as _;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use super::effective::Effective;
use super::value::{LogFormat, Secret};
use crate::failure::Failure;

/// Where a collector takes spans, below its base address.
const TRACES_PATH: &str = "/v1/traces";

/// What stands for this program in every collector.
const SERVICE: &str = "x811";

/// Keeps the spans that are not delivered yet.
pub(super) struct Telemetry(Option<SdkTracerProvider>);

impl Telemetry {
    /// Begins to write lines, and to send spans if an endpoint is given.
    pub(super) fn start(effective: &Effective) -> Result<Telemetry, Failure> {
        let filter = EnvFilter::try_new(&effective.log_filter).map_err(|error| {
            Failure::usage(&format!("the log filter cannot be read: {error}"))
                .hint("give one such as `info` or `info,x811_watcher=debug`")
        })?;
        let filter = filter.and(quiet(&effective.log_filter));
        // Standard output stays for people and programs.
        let lines = fmt::layer()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr);
        let lines = match effective.log_format {
            LogFormat::Text => lines.with_filter(filter).boxed(),
            LogFormat::Json => lines.json().with_filter(filter).boxed(),
        };
        let provider = effective.otlp_endpoint.as_ref().map(provider).transpose()?;
        let spans = provider.as_ref().map(|provider| {
            let wanted = Targets::new().with_target(x811_ledger::SPANS, LevelFilter::DEBUG);
            tracing_opentelemetry::layer()
                .with_tracer(provider.tracer(SERVICE))
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_filter(wanted)
        });
        tracing_subscriber::registry()
            .with(lines)
            .with(spans)
            .init();
        Ok(Telemetry(provider))
    }

    /// Delivers what is left, in bounded time.
    pub(super) async fn finish(self) {
        if let Some(provider) = self.0 {
            // The last spans are nobody's loss when the collector is gone.
            let _ = tokio::task::spawn_blocking(move || provider.shutdown()).await;
        }
    }
}

/// From now on a panic is a log line, like everything else that is said.
pub(super) fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(%panic, "a part of the program ended in a panic: report this");
    }));
}

/// Returns the levels that no filter of the operator lowers: below them, these targets quote the
/// collector's whole address. The client of EventStoreDB calls each failed attempt an error, and the ledger
/// says what came of all of them; so it is heard only where the filter names it.
fn quiet(log_filter: &str) -> Targets {
    let targets = Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_target("opentelemetry-otlp", LevelFilter::INFO)
        .with_target("hyper_util::client::legacy::pool", LevelFilter::INFO);
    match log_filter.contains("kurrentdb") {
        true => targets,
        false => targets.with_target("kurrentdb", LevelFilter::OFF),
    }
}

fn provider(endpoint: &Secret) -> Result<SdkTracerProvider, Failure> {
    // Neither message quotes the address: it may hold a key.
    let unusable = || {
        Failure::usage("the OTLP endpoint is no http:// or https:// address")
            .hint("give a collector's base address, such as http://127.0.0.1:4318")
    };
    let base = endpoint.0.trim_end_matches('/');
    if !base.starts_with("http://") && !base.starts_with("https://") {
        return Err(unusable());
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{base}{TRACES_PATH}"))
        .build()
        .map_err(|_| unusable())?;
    let resource = Resource::builder()
        .with_service_name(SERVICE)
        .with_attribute(opentelemetry::KeyValue::new(
            "service.version",
            env!("CARGO_PKG_VERSION"),
        ))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build())
}
