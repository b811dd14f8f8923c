//! What holds for every tile that is read (C2SP tlog-tiles). The input is its path, a line feed, and
//! the file.

use x811_eventlog::tile::{TileContent, read_entries, write_entries};
use x811_eventlog::{HashTile, Tile};

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let line_end = bytes.iter().position(|byte| *byte == b'\n');
    let (path, file) = bytes.split_at(line_end.unwrap_or(bytes.len()));
    let file = file.strip_prefix(b"\n").unwrap_or_default();
    let Ok(path) = str::from_utf8(path) else {
        return;
    };
    let Ok(tile) = path.parse::<Tile>() else {
        return;
    };
    assert_eq!(tile.to_string(), path, "a tile has one name");
    check_place(tile);
    match HashTile::from_bytes(tile, file) {
        Ok(hashes) => {
            assert_eq!(hashes.to_bytes(), file);
            assert_eq!(hashes.tile(), tile);
            assert_eq!(hashes.hashes().len(), usize::from(tile.width));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(leaves) = read_entries(file, tile.width) {
        assert_eq!(leaves.len(), usize::from(tile.width));
        assert_eq!(
            write_entries(leaves).as_deref(),
            Ok(file),
            "entries have one form"
        );
    }
}

/// A tile is in every tree that is large enough, and in no smaller one.
fn check_place(tile: Tile) {
    assert!((1..=256).contains(&tile.width));
    assert_eq!(tile.is_partial(), tile.width < 256);
    let shift = match tile.content {
        TileContent::Hashes(level) => u32::from(level) * 8,
        TileContent::Entries => 0,
    };
    let count = tile.start().checked_add(u64::from(tile.width));
    let size = count.and_then(|count| count.checked_shl(shift).filter(|_| shift < 64));
    let size = size.filter(|size| size >> shift == count.unwrap_or_default());
    let Some(size) = size else {
        assert!(!tile.is_in(tile.start()), "no tree has so many leaves");
        return;
    };
    assert!(tile.is_in(size));
    assert!(!tile.is_in(size - 1), "{tile} in a tree of {}", size - 1);
    assert_eq!(Tile::at(tile.content, tile.index, size), Some(tile));
}
