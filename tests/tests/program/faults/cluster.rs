//! Three PostgreSQL servers, of which one writes and waits for one of the two others; a name by which
//! whichever of them that is, is found.

use std::os::unix::fs::symlink;
use std::time::Duration;
use tempfile::TempDir;
use x811_tests::postgres::Node;

/// Who counts.
const NAMES: &str = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s2, s3)'";

/// A primary that waits for one of two standbys.
pub(crate) struct Servers {
    pub(crate) primary: Node,
    /// Called `s2` and `s3`.
    pub(crate) standbys: [Node; 2],
    /// Has the name.
    place: TempDir,
    /// The ledger's address, by that name.
    pub(crate) url: String,
}

impl Servers {
    pub(crate) async fn start() -> Servers {
        let primary = Node::start(&["wal_level=replica", "max_wal_senders=6"]).await;
        let standbys = [primary.standby("s2").await, primary.standby("s3").await];
        let url = primary.url().await;
        let place = TempDir::new().unwrap();
        let socket = primary.socket().to_str().unwrap();
        let name = place.path().join("primary");
        let url = url.replace(socket, name.to_str().unwrap());
        let servers = Servers {
            primary,
            standbys,
            place,
            url,
        };
        servers.name().await;
        servers
    }

    /// Lets the name be the primary's, once commits wait there.
    async fn name(&self) {
        self.primary.run_sql(NAMES).await;
        self.primary.run_sql("SELECT pg_reload_conf()").await;
        // A reload is heard by each session at its next statement.
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.link();
    }

    fn link(&self) {
        let (next, name) = (
            self.place.path().join("next"),
            self.place.path().join("primary"),
        );
        symlink(self.primary.socket(), &next).unwrap();
        std::fs::rename(next, name).unwrap();
    }

    /// The primary dies, and is replaced as docs/scale.md says: both standbys are reached and detached,
    /// and the one that has more is promoted. A new one takes its place.
    pub(crate) async fn fail_over(&mut self) {
        drop(self.replaced().await);
    }

    /// The same, and gives the server that was the primary, as it died.
    pub(crate) async fn replaced(&mut self) -> Node {
        self.primary.kill();
        let [second, third] = &self.standbys;
        let more = usize::from(third.detach().await > second.detach().await);
        self.standbys[more].promote().await;
        let names = ["s2", "s3"];
        self.standbys[1 - more]
            .attach(&self.standbys[more], names[1 - more])
            .await;
        std::mem::swap(&mut self.primary, &mut self.standbys[more]);
        self.name().await;
        let standby = self.primary.standby(names[more]).await;
        std::mem::replace(&mut self.standbys[more], standby)
    }

    /// The ledger's address on the server that is the primary now, whatever becomes of the name.
    pub(crate) fn direct(&self) -> String {
        let name = self.place.path().join("primary");
        let socket = self.primary.socket().to_str().unwrap();
        self.url.replace(name.to_str().unwrap(), socket)
    }

    /// All of them are lost, and a copy of what was is there by the same name, without standbys.
    pub(crate) async fn restore(&mut self, copy: TempDir) {
        self.primary.kill();
        self.standbys.iter_mut().for_each(Node::kill);
        self.primary = Node::restored(copy).await;
        let alone = "ALTER SYSTEM RESET synchronous_standby_names";
        self.primary.run_sql(alone).await;
        self.primary.run_sql("SELECT pg_reload_conf()").await;
        self.link();
    }

    /// Nothing gets from the primary to its standbys any more.
    pub(crate) fn cut(&self) {
        self.standbys
            .iter()
            .for_each(|standby| standby.signal("STOP"));
    }

    /// And again.
    pub(crate) fn mend(&self) {
        self.standbys
            .iter()
            .for_each(|standby| standby.signal("CONT"));
    }
}
