//! Holds the agents' keys against those that the auditor knows.

use super::Auditor;

impl Auditor {
    /// Compares the agents' keys with the known ones, once nothing follows.
    pub(crate) fn compare_agent_keys(&mut self) {
        let (end, is_extract) = (self.end(), self.extract.is_some());
        self.agent_keys
            .compare(&end, is_extract, &mut self.findings);
    }
}
