//! An auditor with nothing but a file: a clean export is clean, a tampered byte is named.

use super::stage::Stage;
use std::fs;
use x811_tests::binary::run;

#[tokio::test]
async fn promise_4_a_tampered_byte_is_named() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let _ = stage.pay(&interaction);
    assert_eq!(stage.until_decided(&interaction).await.code, Some(0));

    let file = stage.folder.path().join("log.x811");
    let (file, data_dir) = (file.to_str().unwrap(), stage.data_dir());
    let _ = run(&["export", data_dir.to_str().unwrap(), "-o", file, "--json"]).ok();
    let clean = run(&["audit", file, "--json"]).unverified().json();
    assert_eq!(clean["verdict"], "clean", "{clean}");

    let export = fs::read(file).unwrap();
    let offsets = (0..40).map(|step| step * (export.len() - 1) / 39);
    for offset in offsets {
        let mut tampered = export.clone();
        tampered[offset] ^= 0x01;
        let line = export[..offset]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        fs::write(file, &tampered).unwrap();
        let report = run(&["audit", file, "--json"]);
        assert_eq!(
            report.code,
            Some(20),
            "byte {offset} of line {line}: {report:?}"
        );
        let report = report.json();
        let findings = report["findings"].as_array().unwrap();
        let named = findings.iter().any(|finding| {
            let there = finding["line"].as_u64().unwrap_or_default();
            there.abs_diff(line as u64) <= 1
        });
        assert!(named, "byte {offset} of line {line}: {report}");
    }
}
