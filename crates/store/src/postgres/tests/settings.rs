//! Settings of a role and poolers, which would end the ledger's sessions or change what they do.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use x811_eventlog::Head;
use x811_ledger::port::LedgerStore as _;

use super::super::session::{connect, settle};
use super::cluster::Node;
use super::url;
use crate::sqlite::tests::sample;
use crate::{PostgresError, PostgresStore, StoreUrl};

async fn value_of(session: &mut PgConnection, setting: &str) -> String {
    let value = sqlx::query_scalar("SELECT current_setting($1)").bind(setting);
    value.fetch_one(session).await.unwrap()
}

/// The name and the message of a setting that was refused.
fn refused<T: std::fmt::Debug>(opened: Result<T, PostgresError>) -> (&'static str, String) {
    let error = opened.unwrap_err();
    let sentence = error.to_string();
    if let PostgresError::Dropped { name, .. } | PostgresError::NotWritable { name, .. } = error {
        return (name, sentence);
    }
    panic!("{sentence}");
}

#[tokio::test]
async fn stores_2_settings_of_the_role_neither_end_nor_change_the_ledgers_sessions() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    node.run_sql(
        "ALTER ROLE postgres SET idle_session_timeout = '1h';
         ALTER ROLE postgres SET lock_timeout = '1ms';
         ALTER ROLE postgres SET idle_in_transaction_session_timeout = '1ms';
         ALTER ROLE postgres SET default_transaction_isolation = 'serializable';
         ALTER ROLE postgres SET statement_timeout = '1ms'",
    )
    .await;
    let store = PostgresStore::open(&url, None).await.unwrap();
    let commit = sample::commit(Head::EMPTY, 1);
    assert_eq!(store.commit(commit).await.unwrap().size, 1);
    let mut session = connect(&url.as_session("x811 test")).await.unwrap();
    for (setting, due) in [
        ("statement_timeout", "0"),
        ("idle_session_timeout", "0"),
        ("lock_timeout", "1s"),
        ("idle_in_transaction_session_timeout", "2s"),
        ("default_transaction_isolation", "read committed"),
        ("search_path", "ledger0"),
    ] {
        assert_eq!(value_of(&mut session, setting).await, due, "{setting}");
    }
    store.close().await;
}

/// PgBouncer with `ignore_startup_parameters = options` drops what a session begins with.
#[tokio::test]
async fn stores_2_a_setting_that_a_pooler_dropped_is_named_with_the_remedy() {
    let node = Node::start(&[]).await;
    let dropped: PgConnectOptions = node.address().parse().unwrap();
    let (name, sentence) = refused(connect(&dropped).await);
    assert_eq!(name, "lock_timeout", "{sentence}");
    let remedy = "ALTER ROLE CURRENT_USER SET lock_timeout = '1000'";
    assert!(sentence.contains(remedy), "{sentence}");
    assert!(sentence.contains("is \"0\""), "{sentence}");

    node.run_sql(remedy).await;
    let (name, sentence) = refused(connect(&dropped).await);
    assert_eq!(name, "idle_in_transaction_session_timeout", "{sentence}");
    node.run_sql("ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '2000'")
        .await;
    let mut session = connect(&dropped).await.unwrap();
    // So would the schema be dropped, and the ledger begin in another one.
    let (name, sentence) = refused(settle(&mut session, Some("ledger0")).await);
    assert_eq!(name, "search_path", "{sentence}");
}

#[tokio::test]
async fn stores_2_a_role_that_may_not_write_is_refused_as_writer_and_reads() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    PostgresStore::open(&url, None).await.unwrap().close().await;
    node.run_sql("ALTER ROLE postgres SET default_transaction_read_only = on")
        .await;
    let (name, sentence) = refused(PostgresStore::open(&url, None).await);
    assert_eq!(name, "default_transaction_read_only");
    let remedy = "ALTER ROLE CURRENT_USER RESET default_transaction_read_only";
    assert!(sentence.contains(remedy), "{sentence}");
    PostgresStore::open_read_only(&url).await.unwrap();
}

/// Answers one client as PgBouncer does where it does not know the settings that a session begins with.
fn refuse_startup(listener: &TcpListener) {
    let (mut client, _) = listener.accept().unwrap();
    let mut length = [0; 4];
    client.read_exact(&mut length).unwrap();
    let mut startup = vec![0; u32::from_be_bytes(length) as usize - length.len()];
    client.read_exact(&mut startup).unwrap();
    let fields = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
    let length = u32::try_from(fields.len() + length.len()).unwrap();
    let refusal = [&b"E"[..], &length.to_be_bytes(), fields].concat();
    client.write_all(&refusal).unwrap();
}

#[tokio::test]
async fn stores_2_a_pooler_that_refuses_settings_is_called_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pooler = std::thread::spawn(move || refuse_startup(&listener));
    let url = format!("postgres://x811@127.0.0.1:{port}/x811?sslmode=disable");
    let url: StoreUrl = url.parse().unwrap();
    let error = PostgresStore::open_read_only(&url).await.unwrap_err();
    assert!(matches!(error, PostgresError::Pooler { .. }), "{error:?}");
    assert!(error.to_string().contains("startup parameter"), "{error}");
    pooler.join().unwrap();
}
