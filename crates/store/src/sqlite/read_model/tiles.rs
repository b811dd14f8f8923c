//! The tree over the log, in tiles: how it grows, and how a tile is read back.

use std::collections::{BTreeMap, HashMap};

use sqlx::query_builder::QueryBuilder;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Row as _, Sqlite};
use x811_eventlog::tile::{EdgeError, TILE_WIDTH, TileContent};
use x811_eventlog::{Hash, HashTile, Node, Tile, TileEdge};

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{MAX_IN, Row, Statements, Table, insert};
use crate::sqlite::readers::Readers;

const HASH_BYTES: usize = 32;

static TILES: Table<HashTile> = Table {
    into: "tiles (level, tile, hashes)",
    columns: 3,
    on_conflict: " ON CONFLICT (level, tile) DO UPDATE SET hashes = excluded.hashes",
    key: UniqueKey::Tile,
    bind: bind_tile,
    statements: Statements::new(),
};

/// A record hash on its way into the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    pub(super) position: u64,
    pub(super) hash: Hash,
}

/// Appends `leaves`, which have to follow those that are there. `known` is where the tree ended
/// after the last batch, if somebody remembers, and then after this one.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    known: &mut Option<TileEdge>,
    leaves: &[Leaf],
) -> Result<(), StoreError> {
    if leaves.is_empty() {
        return Ok(());
    }
    let mut edge = match known.take() {
        Some(edge) => edge,
        None => edge(connection).await?,
    };
    let before: Vec<Tile> = edge.tiles().map(|tile| tile.tile()).collect();
    let mut changed = Vec::new();
    for leaf in leaves {
        let size = edge.size();
        if leaf.position != size {
            return Err(StoreError::NotNext {
                old_size: leaf.position,
                new_size: leaf.position + 1,
                applied_size: size,
            });
        }
        edge.push(leaf.hash, |full| changed.push(full));
    }
    changed.extend(edge.tiles().filter(|tile| !before.contains(&tile.tile())));
    insert(connection, &TILES, &changed).await?;
    *known = Some(edge);
    Ok(())
}

/// The tile at `index` of `level`, as far as it goes by now.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    level: u8,
    index: u64,
) -> Result<Option<HashTile>, StoreError> {
    let Ok(index) = i64::try_from(index) else {
        return Ok(None);
    };
    let hashes: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT hashes FROM tiles WHERE level = ? AND tile = ?")
            .bind(level)
            .bind(index)
            .fetch_optional(connection)
            .await?;
    hashes
        .map(|hashes| stored(level, index, &hashes))
        .transpose()
}

/// Those of `nodes` that the tiles have.
pub(super) async fn read_nodes(
    readers: &Readers,
    nodes: &[Node],
) -> Result<HashMap<Node, Hash>, StoreError> {
    let mut wanted: BTreeMap<(u8, u64), Vec<Node>> = BTreeMap::new();
    for node in nodes {
        if let Some(tile) = Tile::with_node(*node, u64::MAX)
            && let TileContent::Hashes(level) = tile.content
        {
            wanted.entry((level, tile.index)).or_default().push(*node);
        }
    }
    let names: Vec<(u8, u64)> = wanted.keys().copied().collect();
    let mut found = HashMap::with_capacity(nodes.len());
    for chunk in names.chunks(MAX_IN) {
        for tile in read_all(readers, chunk).await? {
            let within = wanted.get(&(tile.level(), tile.index()));
            let within = within.into_iter().flatten();
            found.extend(within.filter_map(|node| Some((*node, tile.node(*node)?))));
        }
    }
    Ok(found)
}

/// Those of `wanted`, by level and index, that there are.
async fn read_all(readers: &Readers, wanted: &[(u8, u64)]) -> Result<Vec<HashTile>, StoreError> {
    let mut select = QueryBuilder::<Sqlite>::new(
        "SELECT level, tile, hashes FROM tiles WHERE (level, tile) IN (",
    );
    select.push_values(wanted, |mut row, (level, index)| {
        row.push_bind(*level).push_bind(index.cast_signed());
    });
    select.push(")");
    let rows = select.build().fetch_all(&mut *readers.get().await?).await?;
    let tiles = rows
        .iter()
        .map(|row| stored(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    tiles.collect()
}

/// The tile that these bytes are.
pub(super) fn stored(level: u8, index: i64, hashes: &[u8]) -> Result<HashTile, StoreError> {
    let width = u16::try_from(hashes.len() / HASH_BYTES).unwrap_or(TILE_WIDTH);
    let tile = Tile {
        content: TileContent::Hashes(level),
        index: index.cast_unsigned(),
        width,
    };
    HashTile::from_bytes(tile, hashes).map_err(|error| bad_tile(&error))
}

/// Where the tree ends.
async fn edge(connection: &mut SqliteConnection) -> Result<TileEdge, StoreError> {
    let size = size(connection).await?;
    let mut hashes = BTreeMap::new();
    for tile in TileEdge::partials(size).flatten() {
        if let TileContent::Hashes(level) = tile.content
            && let Some(stored) = read(&mut *connection, level, tile.index).await?
        {
            hashes.insert(tile, stored.hashes().to_vec());
        }
    }
    let edge: Result<TileEdge, EdgeError> =
        TileEdge::behind(size, |tile| Ok(hashes.remove(&tile).unwrap_or_default()));
    edge.map_err(|error| bad_tile(&error))
}

/// Leaves in the tree.
async fn size(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let last = sqlx::query(
        "SELECT tile, length(hashes) FROM tiles WHERE level = 0 ORDER BY tile DESC LIMIT 1",
    )
    .fetch_optional(connection)
    .await?;
    let Some(last) = last else {
        return Ok(0);
    };
    let (index, bytes): (i64, i64) = (last.try_get(0)?, last.try_get(1)?);
    let before = index.cast_unsigned().checked_mul(u64::from(TILE_WIDTH));
    let size =
        before.and_then(|before| before.checked_add(bytes.cast_unsigned() / HASH_BYTES as u64));
    size.ok_or_else(|| StoreError::BadValue {
        table: "tiles",
        what: format!("the tile {index}, which no log is long enough for"),
    })
}

fn bind_tile(row: &mut Row, tile: &HashTile) {
    row.push_bind(tile.level())
        .push_bind(tile.index().cast_signed())
        .push_bind(tile.to_bytes());
}

fn bad_tile(error: &dyn std::error::Error) -> StoreError {
    StoreError::BadValue {
        table: "tiles",
        what: error.to_string(),
    }
}
