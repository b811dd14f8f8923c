//! The rows for readers at the start. They follow from the log, so that damaged ones are no reason
//! not to start: they are thrown away, and written again.

use super::{Ground, Opened, Signers, StartError};
use crate::config::ServerConfig;
use std::path::Path;
use std::sync::Arc;
use x811_eventlog::{AppendError, ReadError};
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;
use x811_ledger::sequencer::{self, OpenError};
use x811_store::{ReadRows, StoreError};
use x811_world::World;

/// Opens the log with its rows; with new ones where those that are there are damaged.
pub(super) async fn open_ledger<C: Clock, E: Entropy>(
    ground: &Ground,
    config: &ServerConfig,
    signers: &Signers,
    clock: &Arc<C>,
    entropy: &Arc<E>,
    warm: Warm,
) -> Result<(Opened<C, E>, Arc<ReadRows>), StartError> {
    let rows = match warm.rows {
        Some(rows) => rows,
        None => Arc::new(open_rows(&config.data_dir).await?),
    };
    let opened = open_with((ground, config, signers), clock, entropy, &rows, warm.world);
    let damage = match opened.await {
        Ok(opened) => return Ok((opened, rows)),
        Err(StartError::Ledger(OpenError::Rows(error))) if is_damage(&error) => error,
        Err(error) => return Err(error),
    };
    tell_of_damage(&config.data_dir, &damage);
    if let Some(rows) = Arc::into_inner(rows) {
        rows.close().await;
    }
    ReadRows::remove(&config.data_dir)?;
    let rows = Arc::new(ReadRows::open(&config.data_dir).await?);
    let opened = open_with((ground, config, signers), clock, entropy, &rows, None).await?;
    Ok((opened, rows))
}

/// What a process that followed the log has of it.
#[derive(Default)]
pub(super) struct Warm {
    pub(super) world: Option<World>,
    pub(super) rows: Option<Arc<ReadRows>>,
}

async fn open_with<C: Clock, E: Entropy>(
    (ground, config, signers): (&Ground, &ServerConfig, &Signers),
    clock: &Arc<C>,
    entropy: &Arc<E>,
    rows: &Arc<ReadRows>,
    warm: Option<World>,
) -> Result<Opened<C, E>, StartError> {
    let opening = ground.opening(config, signers).await?;
    let (log, rows) = (ground.store.clone(), rows.clone());
    let opened = sequencer::open_warm(log, rows, clock.clone(), entropy.clone(), opening, warm);
    Ok(opened.await?)
}

pub(super) async fn open_rows(data_dir: &Path) -> Result<ReadRows, StartError> {
    match ReadRows::open(data_dir).await {
        Err(error) if error.is_damage() => {
            tell_of_damage(data_dir, &error);
            ReadRows::remove(data_dir)?;
            Ok(ReadRows::open(data_dir).await?)
        }
        opened => Ok(opened?),
    }
}

fn tell_of_damage(data_dir: &Path, damage: &dyn std::fmt::Display) {
    let data_dir = data_dir.display();
    tracing::warn!(
        %data_dir,
        %damage,
        "read.db is damaged: it is thrown away, and written again from the log, which takes a while. \
         Look at the disk, and see what `x811 doctor` says of the rest"
    );
}

/// Whether the rows hold something else than was written to them.
fn is_damage(error: &sequencer::RowsError) -> bool {
    let source = match error {
        sequencer::RowsError::Read(ReadError::Backend(source))
        | sequencer::RowsError::Write(
            AppendError::Backend(source) | AppendError::OutcomeUnknown { source, .. },
        ) => source,
        sequencer::RowsError::Read(_) | sequencer::RowsError::Write(_) => return false,
    };
    let source = source.downcast_ref::<StoreError>();
    source.is_some_and(StoreError::is_damage_of_rows)
}
