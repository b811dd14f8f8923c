//! `[store]`, and its options.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::serve::value::Secret;

/// `[store]`: a PostgreSQL database for the log, or for what lies beside one in EventStoreDB.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Store")]
pub(in crate::serve) struct Store {
    /// PostgreSQL database that has the log, instead of the data directory; it may hold a password,
    /// so it is never printed
    #[arg(
        long = "store-url",
        env = "X811_STORE_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "url_file"
    )]
    pub(in crate::serve) url: Option<Secret>,
    /// File whose one line is that address
    #[arg(
        long = "store-url-file",
        env = "X811_STORE_URL_FILE",
        value_name = "FILE"
    )]
    pub(in crate::serve) url_file: Option<PathBuf>,
    /// Cluster of EventStoreDB or KurrentDB that has the log, with all its nodes; the database of
    /// --store-url then has what lies beside it. It may hold a password, so it is never printed
    #[arg(
        long = "store-log-url",
        env = "X811_STORE_LOG_URL",
        value_name = "URL",
        hide_env_values = true,
        conflicts_with = "log_url_file"
    )]
    pub(in crate::serve) log_url: Option<Secret>,
    /// File whose one line is that address
    #[arg(
        long = "store-log-url-file",
        env = "X811_STORE_LOG_URL_FILE",
        value_name = "FILE"
    )]
    pub(in crate::serve) log_url_file: Option<PathBuf>,
    /// While another process writes to this log, stand by: follow it, answer reads, and take over once
    /// it has stopped or died
    #[arg(
        long = "store-wait",
        env = "X811_STORE_WAIT",
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    pub(in crate::serve) wait: Option<bool>,
    /// Another process of this ledger, as http://HOST:PORT, that takes what this one is sent while it
    /// stands by; may be given again
    #[arg(
        long = "store-peer",
        env = "X811_STORE_PEERS",
        value_name = "URL",
        value_delimiter = ','
    )]
    pub(in crate::serve) peers: Option<Vec<String>>,
    /// How many of the standbys must have what is acknowledged
    #[arg(
        long = "store-quorum",
        env = "X811_STORE_QUORUM",
        value_name = "NUMBER"
    )]
    pub(in crate::serve) quorum: Option<u64>,
    /// Name of a standby (its application_name) that counts; may be given again
    #[arg(
        long = "store-standby",
        env = "X811_STORE_STANDBYS",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub(in crate::serve) standbys: Option<Vec<String>>,
}
