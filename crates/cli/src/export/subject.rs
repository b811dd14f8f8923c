//! `x811 export --interaction ID`, `--negotiation ID` and `--capabilities DID`: one of them and what
//! it rests on, from a data directory or from the ledger.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_audit::audit_export;
use x811_audit::export::Scope;
use x811_eventlog::Hash;
use x811_protocol::stream::Subject;

use super::{sink::Sink, unwritten};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Asks the ledger for the bundle, and keeps it once it was found to hold.
pub(super) async fn fetch(
    subject: Subject,
    context: &Context,
    target: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    let client = context.reading_client().await?;
    let bytes = client.bundle(subject).await?;
    let report = audit_export(&bytes[..], None)
        .map_err(|error| Failure::untrusted(format!("the bundle cannot be read: {error}")))?;
    if let Some(finding) = report.findings.first() {
        let what = &finding.sentence;
        let message = format!("the bundle that the ledger sent does not hold: {what}");
        return Err(Failure::untrusted(message));
    }
    let extract = report
        .extract
        .filter(|extract| extract.subject() == Some(subject))
        .ok_or_else(|| Failure::untrusted("the ledger sent a bundle of something else"))?;
    let mut sink = Sink::open(target).map_err(|error| unwritten(&error))?;
    sink.write_all(&bytes).map_err(|error| unwritten(&error))?;
    let exported = Exported {
        file: target.to_owned(),
        subject,
        scope: Scope::Of(subject),
        records: report.records,
        tree_size: extract.tree_size.unwrap_or_default(),
        root: report.root,
    };
    exported.finish(sink, out)
}

/// Writes the bundle from a data directory, whose ledger may be running.
#[cfg(feature = "serve")]
pub(super) async fn write(
    subject: Subject,
    data_dir: &Path,
    note: String,
    target: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    use x811_eventlog::Checkpoint;
    use x811_ledger::export::SubjectBundle;
    use x811_ledger::keyring;
    use x811_protocol::event::LedgerRole;
    use x811_server::keys::Identity;
    use x811_store::ReadRows;
    use x811_world::keys_statement::KeysStatement;

    use super::until::rows_at;

    let unopened = crate::data_dir::unopened;
    let store = crate::data_dir::open_store(data_dir).await?;
    let rows = ReadRows::open_read_only(data_dir).await.map_err(unopened)?;
    let identity = Identity::load(data_dir)
        .map_err(|error| Failure::local("keys", error.to_string()))?
        .ok_or_else(|| {
            let message = format!("{} has no keys", data_dir.display());
            Failure::local("keys", message).hint(
                "a bundle is signed by the ledger: take its data directory, no copy without keys",
            )
        })?;
    let unread = |error: String| Failure::local("log", error);
    let checkpoint = Checkpoint::claimed(&note);
    let checkpoint = checkpoint.map_err(|error| Failure::local("checkpoint", error.to_string()))?;
    rows_at(&rows, checkpoint.size).await?;
    let keyring = keyring::find(&store, &rows, checkpoint.size).await;
    let keyring = keyring.map_err(|error| unread(error.to_string()))?;
    let keyring = keyring.ok_or_else(|| unread("position 0 is no `ledger_opened`".to_owned()))?;
    let key = keyring.in_force().checkpoint;
    let key = identity
        .secret(LedgerRole::Checkpoint, key)
        .ok_or_else(|| {
            let message = format!("keys/checkpoint.seed is not {key}, the key in force");
            Failure::local("keys", message).hint("put the file with that key back")
        })?;
    let keys = KeysStatement::of(&identity.opened, &keyring, &checkpoint).sign(key);
    let bundle = SubjectBundle::open(&store, &rows, subject, note, keys).await;
    let mut bundle = bundle.map_err(|error| unbundled(&error))?;
    let mut sink = Sink::open(target).map_err(|error| unwritten(&error))?;
    while let Some(piece) = bundle
        .next_piece(&store, &rows, key)
        .await
        .map_err(|error| unbundled(&error))?
    {
        sink.write_all(&piece).map_err(|error| unwritten(&error))?;
    }
    let exported = Exported {
        file: target.to_owned(),
        subject,
        scope: Scope::Of(subject),
        records: bundle.records(),
        tree_size: bundle.checkpoint().size,
        root: bundle.checkpoint().root,
    };
    exported.finish(sink, out)
}

#[cfg(feature = "serve")]
fn unbundled(error: &x811_ledger::export::BundleError) -> Failure {
    use x811_ledger::export::BundleError;
    let code = match error {
        BundleError::NoSubject { subject, .. } => &format!("no_{}", subject.noun()),
        BundleError::Checkpoint(_) => "checkpoint",
        BundleError::OtherKey { .. } | BundleError::OtherStatement { .. } => "keys",
        BundleError::Json(_) => "file",
        BundleError::RowsBehind { .. }
        | BundleError::Body(_)
        | BundleError::Damaged { .. }
        | BundleError::Cut { .. }
        | BundleError::BodyLine { .. }
        | BundleError::Proof(_)
        | BundleError::Read(_) => "log",
    };
    Failure::local(code, error.to_string())
}

#[derive(Serialize)]
struct Exported {
    file: PathBuf,
    #[serde(flatten)]
    scope: Scope,
    #[serde(skip)]
    subject: Subject,
    records: u64,
    tree_size: u64,
    root: Hash,
}

impl Exported {
    /// Puts the bundle in its place, and says so unless it went to standard output.
    fn finish(self, sink: Sink, out: &mut Out) -> Result<(), Failure> {
        sink.finish().map_err(|error| unwritten(&error))?;
        if self.file != Path::new("-") {
            out.report(&self);
        }
        Ok(())
    }
}

impl Report for Exported {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Good,
            format_args!("bundle in {}", self.file.display()),
        );
        out.fields(&[
            (self.subject.kind(), self.subject.public_id()),
            (
                "records",
                format!(
                    "{} of the {} under the checkpoint",
                    self.records, self.tree_size
                ),
            ),
            ("root", self.root.to_string()),
        ]);
        out.gap();
        out.line(format_args!(
            "check it anywhere: x811 audit {}",
            self.file.display()
        ));
    }
}
