//! A ledger with an interaction in it. Its RPC endpoint answers nobody: none of this needs one.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

use serde_json::Value;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use std::path::PathBuf;
use tempfile::TempDir;
use x811_tests::binary::{Finished, Server, run};

pub(crate) const SERVE: [&str; 6] = [
    "--network",
    "local",
    "--token",
    "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    "--rpc-url",
    "http://127.0.0.1:1",
];

pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    /// An empty folder.
    pub(crate) fn new() -> Place {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The folder of a ledger that was filled and stopped; gives the interaction too.
    pub(crate) fn filled() -> (Place, String) {
        let place = Place::new();
        let server = place.serve();
        let interaction = place.fill(&server);
        server.stop();
        (place, interaction)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("ledger")
    }

    /// Starts the ledger in `data_dir`.
    pub(crate) fn serve(&self) -> Server {
        Server::start(&self.data_dir(), &SERVE).unwrap()
    }

    /// Starts it with its log in the database at `url`; how it ended, where it did not start.
    pub(crate) fn serve_from(&self, url: &str) -> Result<Server, Finished> {
        let store = ["--store-url", url];
        Server::start(&self.data_dir(), &[&SERVE[..], &store].concat())
    }

    /// Runs a command and gives its JSON.
    pub(crate) fn x811(&self, server: &Server, arguments: &[&str]) -> Value {
        let home = self.path("agents");
        let home = home.to_str().unwrap();
        let global = ["--json", "--home", home, "--ledger", server.url()];
        run(&[&global[..], arguments].concat()).ok().json()
    }

    /// Two agents and a REQUEST between them; gives the interaction.
    pub(crate) fn fill(&self, server: &Server) -> String {
        for name in ["ada", "bert"] {
            self.x811(server, &["agent", "new", name]);
            let register = ["--agent", name, "agent", "register", "--capability", "echo"];
            self.x811(server, &register);
        }
        self.request(server)
    }

    /// One more REQUEST.
    pub(crate) fn request(&self, server: &Server) -> String {
        let shown = self.x811(server, &["agent", "show", "bert"]);
        let bert = shown["agents"][0]["did"].as_str().unwrap();
        let request = ["--agent", "ada", "send", "request", "--to", bert];
        let terms = ["--task", "echo", "--budget", "1", "--deadline", "60"];
        let sent = self.x811(server, &[&request[..], &terms].concat());
        sent["interaction_id"].as_str().unwrap().to_owned()
    }

    /// Runs a verb over directories of this place.
    pub(crate) fn over(&self, verb: &[&str], directories: &[&str]) -> Finished {
        let paths: Vec<String> = directories
            .iter()
            .map(|name| self.path(name).to_str().unwrap().to_owned())
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        run(&[&["--json"], verb, &paths[..]].concat())
    }

    /// Somebody with a shell on a database of the ledger.
    pub(crate) async fn sql(&self, file: &str, statements: &[&'static str]) {
        let options = SqliteConnectOptions::new().filename(self.data_dir().join(file));
        let mut connection = options.connect().await.unwrap();
        for statement in statements {
            sqlx::query(*statement)
                .execute(&mut connection)
                .await
                .unwrap();
        }
    }
}
