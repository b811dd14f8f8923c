//! A trace as a picture: each node in a column behind all that it rests on. No script, no style sheet,
//! nothing that is loaded.

use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use uuid::Uuid;
use x811_protocol::shown::Escaped;
use x811_protocol::trace::{Act, Node};

/// Pixels of a box, and between two.
const BOX: (usize, usize) = (230, 46);
const GAP: (usize, usize) = (70, 18);
const MARGIN: usize = 20;

/// Characters of a line in a box.
const LINE: usize = 34;

/// Where the left upper corner of a box is.
fn corner((column, row): (usize, usize)) -> (usize, usize) {
    (
        MARGIN + column * (BOX.0 + GAP.0),
        MARGIN + row * (BOX.1 + GAP.1),
    )
}

/// The picture, as SVG.
pub(super) fn draw(nodes: &[Node]) -> String {
    let mut places = HashMap::<Uuid, (usize, usize)>::new();
    let mut heights = Vec::<usize>::new();
    for node in nodes {
        let before = node.pred.iter().filter_map(|pred| places.get(pred));
        let column = before.map(|(column, _)| column + 1).max().unwrap_or(0);
        if heights.len() <= column {
            heights.resize(column + 1, 0);
        }
        places.insert(node.jti, (column, heights[column]));
        heights[column] += 1;
    }
    let rows = heights.iter().copied().max().unwrap_or(1);
    let (width, height) = corner((heights.len().max(1), rows));
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="monospace" font-size="11"><rect width="100%" height="100%" fill="#ffffff"/>"##
    );
    for node in nodes {
        let Some(place) = places.get(&node.jti) else {
            continue;
        };
        let (x, y) = corner(*place);
        for pred in node.pred.iter().filter_map(|pred| places.get(pred)) {
            let from = corner(*pred);
            let (from_x, from_y) = (from.0 + BOX.0, from.1 + BOX.1 / 2);
            let to_y = y + BOX.1 / 2;
            // Writing into a text does not fail.
            let _ = write!(
                svg,
                r##"<line x1="{from_x}" y1="{from_y}" x2="{x}" y2="{to_y}" stroke="#8a8f98"/>"##
            );
        }
        let [first, second] = words(node).map(|line| escaped(&line));
        let _ = write!(
            svg,
            r##"<g><title>{}</title><rect x="{x}" y="{y}" width="{}" height="{}" rx="5" fill="{}" stroke="#39424e"/><text x="{}" y="{}">{first}</text><text x="{}" y="{}">{second}</text></g>"##,
            node.jti,
            BOX.0,
            BOX.1,
            colour(node),
            x + 8,
            y + 18,
            x + 8,
            y + 35,
        );
    }
    svg.push_str("</svg>");
    svg
}

fn text<'a>(node: &'a Node, name: &str) -> &'a str {
    node.said
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The two lines of a box.
fn words(node: &Node) -> [String; 2] {
    // The end of a DID tells agents apart; its beginning is a time.
    let agent = |name: &str| {
        let did = text(node, name);
        let end = did.get(did.len().saturating_sub(12)..);
        format!("…{}", end.unwrap_or(did))
    };
    let number = |name: &str| node.said.get(name).and_then(Value::as_u64);
    let plain = |what: &str, name: &str| [what.to_owned(), text(node, name).to_owned()];
    let by = |what: &str, who: &str, name: &str| {
        [
            format!("{what} {}", agent(who)),
            text(node, name).to_owned(),
        ]
    };
    match node.act {
        Act::Propose => by("proposal by", "proposer", "action_type"),
        Act::Vote => [agent("voter"), text(node, "decision").to_owned()],
        Act::Votes => [
            format!("{} votes", number("votes").unwrap_or_default()),
            String::new(),
        ],
        Act::Commit => plain(text(node, "outcome"), "reason"),
        Act::Escalate => plain("humans are asked", "reason"),
        Act::HumanDecision => by("human", "human", "decision"),
        Act::SessionClose => plain("session closed", "outcome"),
        Act::AgreementCreate => plain("agreement made", "capability_type"),
        Act::Renegotiate => [
            format!("revision {}", number("revision").unwrap_or_default()),
            text(node, "reason").to_owned(),
        ],
        Act::AgreementRevoke => by("revoked by", "revoked_by", "reason"),
        Act::ContractOffer => by("offer by", "by", "message"),
        Act::ContractCounter => by("counter by", "by", "message"),
        Act::ContractAccept => by("accepted by", "by", "message"),
        Act::ContractReject => by("rejected by", "by", "message"),
        Act::ContractWithdraw => by("withdrawn by", "by", "message"),
        Act::ContractLapse => plain("time is over", "window"),
        Act::ContractEngage => plain("engaged by", "interaction_id"),
    }
}

fn colour(node: &Node) -> &'static str {
    let is = |name: &str, value: &str| text(node, name) == value;
    if is("decision", "approve") || is("outcome", "commit") {
        "#d9f2e0"
    } else if is("decision", "reject") || is("outcome", "abort") {
        "#f7dcdc"
    } else {
        "#e8ecf1"
    }
}

/// Short, and text alone.
fn escaped(line: &str) -> String {
    let line: String = line.chars().take(LINE).collect();
    Escaped(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use x811_protocol::time::TimestampMs;

    fn node(act: Act, number: u128, pred: &[u128], consensus: &Value) -> Node {
        Node {
            act,
            own: Vec::new(),
            said: consensus.as_object().unwrap().clone(),
            jti: Uuid::from_u128(number),
            pred: pred.iter().map(|pred| Uuid::from_u128(*pred)).collect(),
            recorded_at_ms: TimestampMs::new(1),
        }
    }

    /// Attack: an action whose type is markup.
    #[test]
    fn cc_094_a_picture_has_no_markup_of_agents() {
        let evil = "</text><script>alert(\"1\")</script>\u{202e}";
        let nodes = [
            node(Act::Propose, 1, &[], &json!({ "action_type": evil })),
            node(Act::Vote, 2, &[1], &json!({ "decision": "approve" })),
            node(Act::Commit, 3, &[1, 2], &json!({ "outcome": "commit" })),
        ];
        let svg = draw(&nodes);
        assert!(
            !svg.contains("<script") && svg.contains("&lt;script"),
            "{svg}"
        );
        assert!(!svg.contains('\u{202e}'), "{svg}");
        assert_eq!(svg.matches("<line").count(), 3);
        assert_eq!(svg.matches("<g>").count(), 3);
    }
}
