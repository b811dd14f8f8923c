//! `tiles/`: a log as a folder, and what becomes of it by one change.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use x811_eventlog::tile::{TileContent, read_entries, write_entries};
use x811_eventlog::{Hash, Tile, root_of};
use x811_tests::verifiers::Job;

use super::generate::Files;
use super::keys;
use super::log::{Log, SIZE};
use super::{Case, folder, hold_others_to, hold_us_to, table};

pub(crate) fn files() -> Files {
    let log = Log::new();
    let mut files = Files::new();
    files.insert("tiles/checkpoint".to_owned(), log.signed(SIZE).into_bytes());
    let leaves: Vec<&[u8]> = log.records.iter().map(|record| record.bytes()).collect();
    for tile in Tile::all(SIZE) {
        let bytes = match tile.content {
            TileContent::Hashes(_) => hashes(tile, &leaves),
            TileContent::Entries => {
                let from = tile.start() as usize;
                let leaves = &leaves[from..from + usize::from(tile.width)];
                write_entries(leaves.iter().copied()).unwrap()
            }
        };
        files.insert(format!("tiles/{tile}"), bytes);
    }
    files
}

/// What a tile of hashes has to hold.
fn hashes(tile: Tile, leaves: &[&[u8]]) -> Vec<u8> {
    let TileContent::Hashes(level) = tile.content else {
        panic!("{tile:?} has entries");
    };
    let below = 256_usize.pow(u32::from(level));
    let from = tile.start() as usize * below;
    let leaves = &leaves[from..from + usize::from(tile.width) * below];
    let roots = leaves.chunks(below).map(|leaves| {
        let hashes: Vec<Hash> = leaves.iter().map(|leaf| Hash::of_leaf(leaf)).collect();
        *root_of(&hashes).as_bytes()
    });
    roots.flatten().collect()
}

/// What we say of a folder: every entry hashed, every tile built again.
fn check(folder: &Path, policy: &str) -> Result<(), String> {
    let read = |name: &str| fs::read(folder.join(name)).map_err(|_| "missing".to_owned());
    let checkpoint = keys::check(&read("checkpoint")?, policy)?.checkpoint;
    let (entries, tiles): (Vec<Tile>, Vec<Tile>) =
        Tile::all(checkpoint.size).partition(|tile| tile.content == TileContent::Entries);
    let mut leaves = Vec::new();
    for tile in entries {
        let bytes = read(&tile.to_string())?;
        let entries = read_entries(&bytes, tile.width).map_err(|why| keys::word(&why))?;
        leaves.extend(entries.into_iter().map(<[u8]>::to_vec));
    }
    let hashes: Vec<Hash> = leaves.iter().map(|leaf| Hash::of_leaf(leaf)).collect();
    if root_of(&hashes) != checkpoint.root {
        return Err("root".to_owned());
    }
    let leaves: Vec<&[u8]> = leaves.iter().map(Vec::as_slice).collect();
    for tile in tiles {
        if read(&tile.to_string())? != self::hashes(tile, &leaves) {
            return Err("tile".to_owned());
        }
    }
    Ok(())
}

/// A copy of the folder in which `file` is as `change` says.
fn changed(file: &str, change: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in files().into_keys() {
        let path = copy.path().join(name.strip_prefix("tiles/").unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, fs::read(folder().join(name)).unwrap()).unwrap();
    }
    let path = copy.path().join(file);
    let mut bytes = fs::read(&path).unwrap();
    match change.split(' ').collect::<Vec<_>>()[..] {
        ["none"] => {}
        ["xor", at, with] => {
            bytes[at.parse::<usize>().unwrap()] ^= u8::from_str_radix(with, 16).unwrap();
        }
        ["cut", count] => bytes.truncate(bytes.len() - count.parse::<usize>().unwrap()),
        ["add", byte] => bytes.push(u8::from_str_radix(byte, 16).unwrap()),
        ["file", other] => bytes = fs::read(folder().join("tiles").join(other)).unwrap(),
        ["remove"] => {
            fs::remove_file(path).unwrap();
            return copy;
        }
        _ => panic!("no change is called {change}"),
    }
    fs::write(path, bytes).unwrap();
    copy
}

/// | file | change | what it is | verdict | taken by |
fn cases(policy: &str) -> Vec<(TempDir, Case)> {
    let (vkey, _) = keys::vkeys(policy);
    let rows = table::rows("tiles", 5).into_iter();
    rows.map(|row| {
        let [file, change, what, verdict, taken_by] = row.try_into().unwrap();
        let copy = changed(&file, &change);
        let job = Job::tiles(copy.path(), &vkey);
        let case = Case::new(job, &format!("{file}, {change}"), &what, verdict, &taken_by);
        (copy, case)
    })
    .collect()
}

#[test]
fn c2sp_everybody_says_of_every_folder_of_tiles_what_the_table_says() {
    table::assert_complete("tiles", ["checkpoint", "tile"].map(str::to_owned));
    let policy = fs::read_to_string(folder().join("policy/log")).unwrap();
    let (copies, cases): (Vec<TempDir>, Vec<Case>) = cases(&policy).into_iter().unzip();
    hold_us_to(copies.iter().zip(&cases).map(|(copy, case)| {
        let verdict = check(copy.path(), &policy);
        (
            case,
            verdict.map_or_else(|cause| cause, |()| "good".to_owned()),
        )
    }));
    hold_others_to(&cases);
}
