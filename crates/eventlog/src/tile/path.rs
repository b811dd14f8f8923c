//! How a tile is called: `tile/<L>/<N>[.p/<W>]` and `tile/entries/<N>[.p/<W>]`, where N is in groups
//! of three digits, all but the last behind an `x`. One spelling for each tile.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{MAX_LEVEL, TILE_WIDTH, Tile, TileContent};
use crate::decimal;

const ROOT: &str = "tile";
const ENTRIES: &str = "entries";
const PARTIAL: &str = ".p/";
const GROUP: u64 = 1_000;

/// Why a path names no tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a tile is tile/<level>/<index> or tile/entries/<index>, with .p/<width> behind it if it is \
     partial: level 0 to 63, index in groups of three digits with an x before all but the last \
     (x001/x234/067), width 1 to 255, no other zeros in front"
)]
pub struct PathError;

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            TileContent::Hashes(level) => write!(f, "{ROOT}/{level}/")?,
            TileContent::Entries => write!(f, "{ROOT}/{ENTRIES}/")?,
        }
        let mut power = 1;
        while self.index / power >= GROUP {
            power *= GROUP;
        }
        while power > 1 {
            write!(f, "x{:03}/", self.index / power % GROUP)?;
            power /= GROUP;
        }
        write!(f, "{:03}", self.index % GROUP)?;
        if self.is_partial() {
            write!(f, "{PARTIAL}{}", self.width)?;
        }
        Ok(())
    }
}

impl FromStr for Tile {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        let tile = read(path).ok_or(PathError)?;
        // What has zeros in front, or a group too many, is another spelling of a tile.
        if tile.to_string() == path {
            Ok(tile)
        } else {
            Err(PathError)
        }
    }
}

fn read(path: &str) -> Option<Tile> {
    let path = path.strip_prefix(ROOT)?.strip_prefix('/')?;
    let (content, path) = path.split_once('/')?;
    let content = match content {
        ENTRIES => TileContent::Entries,
        level => {
            let level = decimal::parse(level, u64::from(MAX_LEVEL))?;
            TileContent::Hashes(u8::try_from(level).ok()?)
        }
    };
    let (index, width) = match path.split_once(PARTIAL) {
        None => (path, TILE_WIDTH),
        Some((index, width)) => {
            let width = decimal::parse(width, u64::from(TILE_WIDTH) - 1)?;
            (index, u16::try_from(width).ok().filter(|width| *width > 0)?)
        }
    };
    Some(Tile {
        content,
        index: read_index(index)?,
        width,
    })
}

fn read_index(path: &str) -> Option<u64> {
    let (before, last) = path
        .rsplit_once('/')
        .map_or((None, path), |(b, l)| (Some(b), l));
    let before = before.into_iter().flat_map(|groups| groups.split('/'));
    let groups = before.map(|group| group.strip_prefix('x'));
    groups.chain([Some(last)]).try_fold(0_u64, |index, group| {
        let group = group.filter(|group| group.len() == 3)?;
        let is_decimal = group.bytes().all(|byte| byte.is_ascii_digit());
        let value: u64 = is_decimal.then(|| group.parse().ok())??;
        index.checked_mul(GROUP)?.checked_add(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tile(content: TileContent, index: u64, width: u16) -> Tile {
        Tile {
            content,
            index,
            width,
        }
    }

    #[test]
    fn paths_are_those_of_the_specification() {
        let hashes = TileContent::Hashes;
        let table = [
            (tile(hashes(0), 0, 256), "tile/0/000"),
            (tile(hashes(0), 1_234_067, 256), "tile/0/x001/x234/067"),
            (tile(hashes(0), 273, 112), "tile/0/273.p/112"),
            (tile(hashes(2), 0, 1), "tile/2/000.p/1"),
            (tile(hashes(63), 999, 255), "tile/63/999.p/255"),
            (tile(hashes(1), 1_000, 256), "tile/1/x001/000"),
            (tile(TileContent::Entries, 0, 7), "tile/entries/000.p/7"),
            (
                tile(TileContent::Entries, 56_789, 256),
                "tile/entries/x056/789",
            ),
            (
                tile(hashes(0), u64::MAX, 256),
                "tile/0/x018/x446/x744/x073/x709/x551/615",
            ),
        ];
        for (tile, path) in table {
            assert_eq!(tile.to_string(), path);
            assert_eq!(path.parse(), Ok(tile));
        }
    }

    #[test]
    fn other_spellings_name_no_tile() {
        let table = [
            "",
            "tile",
            "tile/",
            "tile/0",
            "tile/0/",
            "/tile/0/000",
            "tile/0/000/",
            "tile//0/000",
            "tile/8/0/000",
            "tile/64/000",
            "tile/9/089/0/x0",
            "tile/00/000",
            "tile/+1/000",
            "tile/-1/000",
            "tile/0/0",
            "tile/0/0000",
            "tile/0/x000",
            "tile/0/x000/000",
            "tile/0/001/000",
            "tile/0/X001/000",
            "tile/0/x001/x000",
            "tile/0/+01",
            "tile/0/٠٠٠",
            "tile/0/x018/x446/x744/x073/x709/x551/616",
            "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
            "tile/0/000.p",
            "tile/0/000.p/",
            "tile/0/000.p/0",
            "tile/0/000.p/256",
            "tile/0/000.p/01",
            "tile/0/000.p/1/2",
            "tile/0/000.p/1.p/1",
            "tile/data/000",
            "tile/Entries/000",
            "tile/entries/000.p/1 ",
        ];
        for path in table {
            assert_eq!(path.parse::<Tile>(), Err(PathError), "{path:?}");
        }
    }

    proptest! {
        #[test]
        fn a_tile_is_read_back_from_its_path(
            level in prop::option::of(0..=MAX_LEVEL),
            index in any::<u64>(),
            shift in 0_u32..64,
            width in 1..=TILE_WIDTH,
        ) {
            let content = level.map_or(TileContent::Entries, TileContent::Hashes);
            let tile = tile(content, index >> shift, width);
            prop_assert_eq!(tile.to_string().parse(), Ok(tile));
        }

        #[test]
        fn whatever_is_read_is_written_the_same(path in "tile/(entries|[0-9]{1,2})/(x?[0-9]{1,4}/){0,3}x?[0-9]{2,4}(\\.p/[0-9]{0,4})?") {
            if let Ok(tile) = path.parse::<Tile>() {
                prop_assert_eq!(tile.to_string(), path);
            }
        }
    }
}
