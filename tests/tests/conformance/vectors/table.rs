//! The tables of `tests/vectors/README.md`: what every file is, and what is to be said of it.

use std::collections::BTreeSet;
use std::fs;

use x811_tests::verifiers::Verifier;

use super::folder;

/// The cells of a line, without the code marks around them.
pub(crate) type Row = Vec<String>;

/// The lines of the table under the heading of `folder`, each of `columns` cells.
pub(crate) fn rows(name: &str, columns: usize) -> Vec<Row> {
    let text = fs::read_to_string(folder().join("README.md")).unwrap();
    let heading = format!("\n## {name}/\n");
    let (_, section) = text.split_once(&heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with('|'));
    let rows: Vec<Row> = lines.skip(2).map(cells).collect();
    for row in &rows {
        assert_eq!(row.len(), columns, "{name}: {row:?}");
    }
    assert!(!rows.is_empty(), "{name} has a table");
    rows
}

fn cells(line: &str) -> Row {
    let inner = line.trim_matches('|').split('|');
    inner
        .map(|cell| cell.trim().trim_matches('`').to_owned())
        .collect()
}

/// Other verifiers, by the names they have in a table.
pub(crate) fn verifiers(cell: &str) -> Vec<Verifier> {
    let names = cell.split(", ").filter(|name| !name.is_empty());
    names
        .map(|name| match name {
            "Go" => Verifier::Go,
            "aics-tlog" => Verifier::Aics,
            "scitt-cose" => Verifier::ScittCose,
            "export.py" => Verifier::Reader,
            _ => panic!("no verifier is called {name}"),
        })
        .collect()
}

/// Every file of a folder is in the table, and the other way round.
pub(crate) fn assert_complete(name: &str, expected: impl IntoIterator<Item = String>) {
    let entries = fs::read_dir(folder().join(name)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.collect();
    assert_eq!(found, expected.into_iter().collect(), "{name}");
}
