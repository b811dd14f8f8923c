//! Both files as they are named on the command line.

use std::path::PathBuf;

use clap::Parser as _;
use serde_json::Value;
use tempfile::TempDir;

use super::super::Args;
use super::super::tests::nowhere;
use super::*;

#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// A file of the stored vectors.
fn vector(name: &str) -> PathBuf {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/bundle");
    vectors.join(format!("{name}.x811"))
}

async fn audited(one: &Path, other: &Path) -> Result<(Exit, Value), Failure> {
    let (mut out, text, _) = Out::captured(true);
    let args = ["audit".as_ref(), one.as_os_str(), other.as_os_str()];
    let args = Line::parse_from(args).args;
    let exit = super::super::run(args, &nowhere(), &mut out).await?;
    Ok((exit, serde_json::from_str(&text.text()).unwrap()))
}

#[tokio::test]
async fn lc_9_two_files_contradict_agree_or_cannot_be_compared() {
    let (log, changed) = (vector("log"), vector("fact-changed-all-rehashed"));
    let (exit, json) = audited(&log, &log).await.unwrap();
    assert_eq!((exit, exit.code()), (Exit::Ok, 0));
    assert_eq!(
        (&json["agrees"], &json["was_compared"]),
        (&true.into(), &true.into())
    );
    for (one, other) in [(&log, &changed), (&changed, &log)] {
        let (exit, json) = audited(one, other).await.unwrap();
        assert_eq!((exit, exit.code()), (Exit::Findings, 20));
        assert_eq!(json["agrees"], false);
        assert_eq!(json["contradictions"][0]["what"], "record");
    }
    let (mut out, text, _) = Out::captured(false);
    run(&log, &changed, &mut out).unwrap();
    let text = text.text();
    for part in [
        "THEY CONTRADICT EACH OTHER",
        "position",
        "its own audit says",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }

    // A checkpoint over other sizes than the other file has.
    let folder = TempDir::new().unwrap();
    let written = std::fs::read_to_string(&log).unwrap();
    let line = written.lines().find(|line| line.starts_with("c ")).unwrap();
    let note: String = serde_json::from_str(&line[2..]).unwrap();
    let size = note.lines().nth(1).unwrap().to_owned();
    let place = folder.path().join("checkpoint");
    std::fs::write(&place, &note).unwrap();
    assert_eq!(audited(&log, &place).await.unwrap().0, Exit::Ok);
    let beyond = note.replacen(&format!("\n{size}\n"), "\n999999\n", 1);
    std::fs::write(&place, beyond).unwrap();
    let (exit, json) = audited(&log, &place).await.unwrap();
    assert_eq!((exit, exit.code()), (Exit::Incomplete, 22));
    assert_eq!(json["checkpoints_beyond"], 1);
}

/// A trace is known by its first members, wherever it stands, and needs a log beside it.
#[tokio::test]
async fn cc_101_a_trace_is_held_against_a_log_or_refused() {
    let (log, folder) = (vector("log"), TempDir::new().unwrap());
    let place = folder.path().join("trace.json");
    let wid = "019c8c61-8129-7511-9f31-bb5100000001";
    for members in [
        "\"tokens\": [], \"own\": []",
        "\"tokens\": [\"a.b\"], \"own\": []",
    ] {
        for text in [
            format!("{{\n  \"wid\": \"{wid}\", {members}}}"),
            format!("{{{members}, \"wid\": \"{wid}\"}}"),
        ] {
            std::fs::write(&place, text).unwrap();
            let exit = match members.contains("a.b") {
                true => Exit::Findings,
                false => Exit::Local,
            };
            for (one, other) in [(&log, &place), (&place, &log)] {
                let failure = audited(one, other).await.unwrap_err();
                assert_eq!(failure.exit, exit, "{failure:?}");
            }
            let failure = audited(&place, &place).await.unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{failure:?}");
        }
    }
    std::fs::write(&place, "{\"wid\":7}").unwrap();
    let failure = audited(&log, &place).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Local, "{failure:?}");
}

#[tokio::test]
async fn what_are_no_two_files_of_one_log_is_refused() {
    let (log, folder) = (vector("log"), TempDir::new().unwrap());
    let packed = folder.path().join("log.gz");
    std::fs::write(&packed, b"\x1f\x8b\x08\0").unwrap();
    for (one, other, exit) in [
        (&*log, folder.path(), Exit::Usage),
        (Path::new("-"), Path::new("-"), Exit::Usage),
        (&*log, &*packed, Exit::Local),
        (&*log, &*folder.path().join("none"), Exit::Local),
    ] {
        let failure = audited(one, other).await.unwrap_err();
        assert_eq!(failure.exit, exit, "{failure:?}");
    }
    let with_key = ["audit", "a", "b", "--key", "k"];
    assert!(Line::try_parse_from(with_key).is_err());
}
