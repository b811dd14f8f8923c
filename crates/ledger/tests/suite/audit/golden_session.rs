//! The good files of an agreement: its bundle, with two revisions, a use and a revocation; that of the
//! session that made it; and that of the interaction under it, whose RESULT did not come (capability.md).

use serde_json::Value;
use x811_protocol::facts::CapabilityVerb;
use x811_protocol::parameters::{Capabilities, Exclusion};
use x811_protocol::stream::Subject;

use super::bargain::Bargain;
use super::bundles::bundle_of;
use super::conduct::{broken, excluding_under};
use super::golden::Golden;

pub(crate) async fn files() -> Golden {
    let ledgerbox = excluding_under(Capabilities {
        exclusion: Some(Exclusion::DEFAULT),
        ..Capabilities::DEFAULT
    })
    .await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(86_400, 3)).await;
    let session = Subject::Session(bargain.session.unwrap());
    let interaction = broken(&ledgerbox, &bargain).await;
    bargain.agree(&ledgerbox, &Bargain::terms(86_400, 4)).await;
    let provider = bargain.provider.clone();
    bargain
        .say(&ledgerbox, &provider, CapabilityVerb::Revoke, &Value::Null)
        .await;
    let agreement = Subject::Agreement(bargain.agreement.unwrap().0);
    let mut files = Golden::new();
    for (name, subject) in [
        ("agreement", agreement),
        ("session", session),
        ("use", Subject::Interaction(interaction)),
    ] {
        let bytes = bundle_of(&ledgerbox, subject).await;
        files.push((format!("bundle/{name}.x811"), bytes));
    }
    files
}
