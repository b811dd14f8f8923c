//! Lists of the reader's own, and their entries as they stand.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use x811_protocol::stream::Subject;

use super::error::ClientError;
use super::{LedgerClient, exchange};

/// A page of a list.
#[derive(Deserialize)]
struct Page<View> {
    /// In order of id.
    #[serde(
        alias = "agreements",
        alias = "escalations",
        alias = "negotiations",
        alias = "rounds",
        alias = "sessions"
    )]
    found: Vec<View>,
    /// Where to go on, while there are more.
    next: Option<String>,
}

impl LedgerClient {
    /// What that list has, in order of id: all of it, or all behind `after`.
    pub(super) async fn list<View: DeserializeOwned>(
        &self,
        name: &str,
        query: &[(&str, &str)],
        mut after: Option<String>,
    ) -> Result<Vec<View>, ClientError> {
        let mut found = Vec::new();
        loop {
            let mut query = query.to_vec();
            query.extend(after.as_deref().map(|id| ("after", id)));
            let page: Page<View> = self.read_signed(&["api", "v1", name], &query).await?;
            found.extend(page.found);
            // A list that does not move on would be read for ever.
            if page.next.is_none() || page.next <= after {
                return Ok(found);
            }
            after = page.next;
        }
    }

    /// A subject as it stands.
    pub(super) async fn subject<View: DeserializeOwned>(
        &self,
        subject: Subject,
    ) -> Result<View, ClientError> {
        let path = subject.path();
        let path: Vec<&str> = ["api", "v1"].into_iter().chain(path.split('/')).collect();
        self.read_signed(&path, &[]).await
    }

    /// What is read as the reader of this client.
    pub(super) async fn read_signed<Answer: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Answer, ClientError> {
        let reply = self.get_signed(path, query, exchange::READ_LIMIT_MS);
        reply.await?.read()
    }
}
