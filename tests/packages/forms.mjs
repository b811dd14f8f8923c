// What the npm package signs, verifies, counts and locks, without a ledger: as forms.py.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  BinaryFault, Caps, Initiator, Keys, Ledger, Negotiation, PayLater, Refused, StateFault, Unreachable, binaryPayer, canonical,
  microUsdc, usdc, verify,
} from "x811";

// The folder `tests`: vectors, and replies that the client in Rust is held to, too.
const tests = process.argv[2];
// What the package does not export, from its folder.
const folderOf = dirname(createRequire(import.meta.url).resolve("x811"));
const inner = (name) => import(pathToFileURL(join(folderOf, name)));
const { budgetOf, feeOf } = await inner("caps.js");
const { Approvals } = await inner("approvals.js");
const { nextPrice, priceWithin, reply } = await inner("bargain.js");
const { Talks, negotiationOf } = await inner("haggling.js");
const { ProofFault, check, provenBy } = await inner("proofs.js");
const { asksFirst, fateOfAbsence, fateOfRefusal } = await inner("outbox.js");
const { reconnectMs } = await inner("feed.js");
const { State } = await inner("state.js");
const { isPayDue, refuted } = await inner("paying.js");

const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
const key = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";
// docs/connect.md, section 3.
const said = {
  created: "2026-01-01T00:00:00.000Z", from: "did:x811:019c8c61-8129-7511-9f31-aa5142e65448",
  id: "0190a1b2-c3d4-7e5f-8901-234567890abc", nonce: "a1b2c3d4-e5f6-4890-abcd-ef1234567890",
  payload: {
    acceptance_policy: "auto", currency: "USDC", deadline: 60, idempotency_key: "test-key-001", max_budget: 0.05,
    parameters: { ticker: "ETH" }, task_type: "financial-analysis",
  },
  to: "did:x811:019c8c61-8129-7511-9f31-aa5142e65449", type: "x811/request", version: "0.1.0",
};
const signatures = {
  digest: "bh5WLUh1SKKd7E-un534XhRwGs0s_qRPxQlT-Tz7NKwRuqjWdfbMbwEk5bjySXk36rk8rYJBMcM1YZk6c9lmAw",
  direct: "O73OSnPZRn4ZmJJBSfnneoLi1-52u7iPyRLePZyG7vaUhyg09ED54K7cRwEdRwiad302ZhfWQdUETVhkiB1kBA",
};

const digest = createHash("sha256").update(canonical(said)).digest("hex");
assert.equal(digest, "e44e766698be7dd791d7325a16bf3de3598863a8a2e2d6eb33d7fe371ebf61c4");
for (const [profile, signature] of Object.entries(signatures)) {
  const keys = new Keys(said.from, seed, profile);
  assert.equal(keys.public, key);
  for (const other of Object.keys(signatures)) {
    // A key is tried by its own profile and never by the other.
    assert.equal(verify({ ...said, signature }, [{ key, profile: other }]), other === profile);
    assert.equal(verify({ ...said, signature, to: said.from }, [{ key, profile: other }]), false);
  }
  assert.ok(verify(keys.seal(said.to, "x811/request", said.payload), [{ key, profile }]));
}
for (const signature of ["", "é", null, 7, undefined, signatures.digest.slice(0, -4)])
  assert.equal(verify({ ...said, signature }, [{ key, profile: "digest" }]), false);
assert.equal(verify({ ...said, signature: signatures.digest }, []), false);
// RFC 8785, section 3.2.2 and 3.2.3.
assert.equal(canonical({ "\u20ac": 1e30, "\r": 4.5, "\ud83d\ude00": 0.002, "\ufb33": 1e-27, 1: "\u000f\n\"" }),
  '{"\\r":4.5,"1":"\\u000f\\n\\"","\u20ac":1e+30,"\ud83d\ude00":0.002,"\ufb33":1e-27}');

for (const [text, amount] of [["0", 0n], ["0.01025", 10_250n], ["1.5", 1_500_000n], ["1000000", 10n ** 12n]]) {
  assert.equal(microUsdc(text), amount);
  assert.equal(usdc(amount), text);
}
for (const text of ["", "01", "1.", ".5", "-1", "1e3", "0.0000001", "1,5", 1, null])
  assert.throws(() => microUsdc(text), TypeError);
// A REQUEST has its budget as a number: no float arithmetic, and half of a micro-USDC is rounded up.
for (const [number, amount] of [[0, 0n], [2, 2_000_000n], [0.05, 50_000n], [1e-6, 1n], [0.1234565, 123_457n],
  [1e12, 10n ** 18n], [9007199254.740993, 9_007_199_254_740_993n]]) assert.equal(budgetOf(number), amount, number);
assert.deepEqual([0n, 19n, 20n, 10_000n].map(feeOf), [0n, 0n, 1n, 250n]);
const caps = new Caps({ perInteraction: "0.04", perDay: "0.1" });
const [dayMs, journal] = [86_400_000, [{ interaction: "a", total_micro_usdc: "70000", at_ms: 1 }]];
for (const [interaction, total, atMs, broken] of [
  ["b", 30_000n, 2, null], ["b", 30_001n, 2, "the cap for 24 hours"], ["b", 40_001n, 2, "the cap for one interaction"],
  ["a", 40_000n, 2, null], ["b", 40_000n, dayMs, "the cap for 24 hours"], ["b", 40_000n, dayMs + 1, null],
]) assert.equal(caps.brokenBy({ interaction, total_micro_usdc: String(total), at_ms: atMs }, journal), broken);
const narrow = new Caps({ perInteraction: "1", perDay: "1", perProvider: "0.06", perNetwork: "0.08" });
const made = [
  { interaction: "a", total_micro_usdc: "30000", at_ms: 1, provider: "p", network: "base" },
  { interaction: "old", total_micro_usdc: "10000", at_ms: 1 },
];
for (const [provider, network, total, broken] of [
  ["p", "base", "20000", null], ["p", "base", "20001", "the cap for this provider in 24 hours"],
  ["q", "base", "40000", null], ["q", "base", "40001", "the cap for this network in 24 hours"],
  ["q", "other", "50000", null], ["q", "other", "50001", "the cap for this provider in 24 hours"],
]) assert.equal(narrow.brokenBy({ interaction: "b", total_micro_usdc: total, at_ms: 2, provider, network }, made), broken);
assert.throws(() => new Caps({ perInteraction: "1", perDay: "1", perNetwork: "much" }), TypeError);

const refused = (status, code, details) => new Refused(status, { code, details });
for (const [fault, fate] of [
  [refused(429, "X811-9001"), "again"], [refused(503, "X811-3003"), "again"], [refused(500, "X811-9002"), "again"],
  [refused(502, "X811-1001"), "again"], [refused(401, "X811-2002"), "ask"], [refused(409, "X811-2001"), "ask"],
  [refused(409, "X811-2001", { first: { code: "X811-4001" } }), "refused"], [refused(422, "X811-4001"), "refused"],
]) assert.equal(fateOfRefusal(fault)[0], fate, fault.message);
const entry = { created_ms: 1_000, is_doubtful: false };
assert.deepEqual([asksFirst(entry, 331_000), asksFirst(entry, 331_001), asksFirst({ ...entry, is_doubtful: true }, 0)], [false, true, true]);
for (const [status, asOf, fate] of [
  [404, { at_ms: 331_001 }, "dead"], [404, { at_ms: 331_000 }, "ask"], [404, {}, "ask"], [403, { at_ms: 331_001 }, "ask"],
]) assert.equal(fateOfAbsence(entry, refused(status, "X811-1001", { as_of: asOf })), fate);
assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8].map(reconnectMs), [1, 2, 4, 8, 16, 30, 30, 30].map((s) => s * 1_000));

const folder = mkdtempSync(join(tmpdir(), "x811-forms-"));
try {
  // The lock of a process that lives; 1 always does.
  writeFileSync(join(folder, "lock"), "1");
  assert.throws(() => new State(folder, "did:x811:a", "did:x811:l"), StateFault);
  // That of one that has ended: beyond every process id.
  writeFileSync(join(folder, "lock"), "99999999");
  const one = new State(folder, "did:x811:a", "did:x811:l");
  one.put("i", "accept", { id: "e", created: said.created });
  assert.deepEqual([one.maySeal("i", "accept"), one.maySeal("i", "reject")], [false, true]);
  one.save();
  assert.equal(statSync(join(folder, "state.json")).mode & 0o777, 0o600);
  one.close();
  assert.throws(() => new State(folder, "did:x811:b", "did:x811:l"), StateFault);
  const again = new State(folder, "did:x811:a", "did:x811:l");
  assert.deepEqual(again.outbox.map((kept) => kept.envelope), [`{"created":"${said.created}","id":"e"}`]);
  for (const [outcome, sealed, may] of [["delivered", 1, false], ["refused", 1, true], ["dead", 2, true], ["refused", 3, false]]) {
    again.task("i").steps.accept = { sealed, outcome };
    assert.equal(again.maySeal("i", "accept"), may);
  }
  again.close();
  // That of `x811 agent run` has the same name.
  const file = join(folder, "state.json");
  const ofRust = { v: 1, did: "did:x811:a", ledger: "did:x811:l", talks: {}, proofs: [] };
  writeFileSync(file, JSON.stringify(ofRust));
  assert.throws(() => new State(folder, "did:x811:a", "did:x811:l"), StateFault);
  // Written before there were negotiations.
  writeFileSync(file, JSON.stringify({ ...ofRust, talks: undefined, proofs: undefined }));
  new State(folder, "did:x811:a", "did:x811:l").close();
} finally {
  rmSync(folder, { recursive: true });
}

// When `pay` is called.
const standing = (kind, tx_hash = "0xaa", cause = "reverted") =>
  ({ tx_hash, standing: kind === "refuted" ? { kind, cause, code: "X811-5003" } : { kind } });
const step = (outcome, sealed) => ({ outcome, sealed });
for (const [kinds, ownStep, isDue] of [
  [[], undefined, true], [[], step("refused", 1), true], [[], step("delivered", 1), false], [[], step("open", 1), false],
  [["unseen"], undefined, true], [["refuted"], undefined, true], [["refuted", "unseen"], undefined, true], [["seen"], undefined, false],
  [["refuted", "seen"], undefined, false], [["claimed"], undefined, false], [["insufficient"], undefined, false],
  [["reversed"], undefined, false], [["unseen"], step("delivered", 1), false], [["refuted"], step("delivered", 1), true],
  [["refuted", "unseen"], step("delivered", 1), false], [["refuted", "refuted"], step("delivered", 1), true],
  [["refuted"], step("delivered", 3), false], [["refuted"], step("open", 1), false], [["refuted"], step("refused", 1), true],
  [["refuted"], step("refused", 3), false],
]) {
  const transactions = kinds.map((kind) => standing(kind));
  assert.equal(isPayDue(transactions, ownStep, 0, 1), isDue, JSON.stringify([kinds, ownStep]));
  assert.equal(isPayDue(transactions, ownStep, 2, 1), isDue && kinds.length === 0, JSON.stringify([kinds, ownStep]));
}
assert.deepEqual(refuted([standing("refuted"), standing("unseen", "0xbb"), standing("refuted", "0xcc", "short")]),
  { "0xaa": "reverted", "0xcc": "short" });

// What it is called with, and what is declared and told of it: as in forms.py.
const purse = mkdtempSync(join(tmpdir(), "x811-forms-"));
try {
  const [calls, told, keys] = [[], [], new Keys(said.from, seed)];
  let [answers, transactions] = [[], []];
  const pay = async (due) => {
    calls.push(due);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const fault = (code, message) => new BinaryFault({ error: { code, message } }, 1);
  const loop = new Initiator({
    ledger: { keys, settlement: async () => ({ transactions }) }, folder: purse, pay, decide: () => true, network: "base",
    caps: new Caps({ perInteraction: "1", perDay: "1" }), watch: (what, interaction, text) => told.push([what, text]),
  });
  loop.state = new State(purse, said.from, "did:x811:l");
  const payload = { total_cost: "0.01025", payment_address: "0xee", request_id: "i" };
  const view = { state: "verified", initiator: said.from, provider: said.to, opened_at_ms: Date.now(), deadline_at_ms: Date.now() + 60_000 };
  const task = loop.state.task("i");
  task.envelopes.offer = { id: "o", from: said.to, payload };
  const look = async (...more) => {
    answers = more;
    await loop.move("i", task, view);
    assert.equal(answers.length, 0);
  };
  loop.recall("i", view);
  // The state file was lost: a callback may have paid, whether or not a PAYMENT names it.
  await look(new PayLater("no answer"));
  assert.ok(calls.at(-1).mayHaveBeenPaid);
  assert.deepEqual(told, [["pay later", "no answer"]]);
  delete task.pay_begun;
  [transactions, task.pay_more_at_ms] = [[standing("unseen")], 0];
  await look({ txHash: "0xAA", payer: "0xdd" });
  assert.ok(calls.at(-1).mayHaveBeenPaid);
  assert.equal(loop.state.outbox.length, 0, "0xaa is named already");
  await look();
  // Nobody answers: sooner again than where an answer came.
  task.pay_more_at_ms = 0;
  await look(new PayLater("no answer"));
  assert.ok(task.pay_more_at_ms <= Date.now() + 2_000);
  // One fault is alarmed once, whatever figures are in its text.
  for (const number of [1, 2]) {
    task.pay_more_at_ms = 0;
    await look(fault("fees_too_high", `up to ${number} ETH`));
  }
  assert.deepEqual(told.slice(-2).map(([what]) => what), ["alarm", "pay later"]);
  // What the loop declared for a callback is refuted: it is asked for another, and that is declared.
  [task.steps.payment, task.pay_more_at_ms] = [step("delivered", 1), 0];
  await look();
  transactions = [standing("refuted")];
  await look({ txHash: "0xbb", payer: "0xdd" });
  assert.deepEqual(calls.at(-1).refuted, { "0xaa": "reverted" });
  assert.ok(told.at(-1)[0] === "alarm" && told.at(-1)[1].includes("0xaa"), String(told.at(-1)));
  assert.deepEqual(loop.state.outbox.map((entry) => JSON.parse(entry.envelope).payload.tx_hash), ["0xbb"]);
  loop.state.close();

  // What becomes of the ends of `x811 pay`; no text of a fault has the address of the endpoint.
  process.env.X811_BINARY = join(purse, "x811");
  const payer = binaryPayer({ ledger: "http://127.0.0.1:1", home: purse, agent: "ada", rpc: "https://rpc.example/secret" });
  const end = async (script) => {
    writeFileSync(process.env.X811_BINARY, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
    const found = await payer({ interaction: "i", network: "base" }).catch((caught) => caught);
    assert.ok(!String(found).includes("secret"), String(found));
    return found;
  };
  const answer = (code) => `echo '${JSON.stringify({ error: { code, message: "m" } })}'; `;
  assert.equal(await end("echo '{}'"), undefined);
  for (const script of [`${answer("rpc")}exit 3`, `${answer("X811-9001")}exit 1`, `${answer("X811-9002")}exit 1`])
    assert.ok((await end(script)) instanceof PayLater, script);
  for (const script of [`${answer("fees_too_high")}exit 1`, `${answer("rpc_refused")}exit 1`, "exit 1", "kill -9 $$", "exit 0"])
    assert.ok((await end(script)) instanceof BinaryFault, script);
  delete process.env.X811_BINARY;
} finally {
  rmSync(purse, { recursive: true });
}

// The same as the client in Rust says to the same prices.
for (const one of JSON.parse(readFileSync(join(tests, "packages", "replies.json"), "utf8"))) {
  const [opening, walkAway, perTurn] = [one.opening, one.walk_away, one.per_turn].map(BigInt);
  const limits = { isPayer: one.side === "payer", opening, walkAway, perTurn };
  const said = reply(one.own.map(BigInt), one.theirs.map(BigInt), limits, one.strategy, one.are_alike, one.may_be_countered);
  assert.deepEqual(said.map((part) => (typeof part === "bigint" ? Number(part) : part)), one.reply, JSON.stringify(one));
}
for (const total of [...Array(2_100).keys(), 29_725, 10 ** 15].map(BigInt)) {
  const price = priceWithin(total);
  assert.ok(price + feeOf(price) <= total && total < price + 1n + feeOf(price + 1n), String(total));
}
assert.throws(() => new Negotiation({ perTurn: "0.001", strategy: "never" }), TypeError);
const limits = { isPayer: true, opening: 100n, walkAway: 5_000n, perTurn: 1_000n };
assert.equal(nextPrice([100n], [9_000n], limits, () => 10n ** 9n), 1_100n, "the limit of a turn holds");

const [named, own] = ["0190a1b2-c3d4-7e5f-8901-234567890abc", "0190a1b2-c3d4-7e5f-8901-234567890abd"];
assert.equal(negotiationOf({ id: "../../agents", type: "x811.negotiation/offer", payload: {} }), null);
for (const [type, payload, found] of [
  ["x811.negotiation/offer", {}, own], ["x811.negotiation/counter", { negotiation_id: `neg-${named}` }, named],
  ["x811/error", { negotiation_id: `neg-${named}` }, named], ["x811/request", { negotiation_id: `neg-${named}` }, null],
  ["x811.negotiation/counter", { negotiation_id: "neg-../../agents" }, null], ["x811.negotiation/counter", {}, null],
]) assert.equal(negotiationOf({ id: own, type, payload }), found, type);

const beside = mkdtempSync(join(tmpdir(), "x811-forms-"));
try {
  const state = new State(beside, "did:x811:a", "did:x811:l");
  const talks = new Talks({ state }, new Negotiation({ perTurn: "0.001" }), {});
  // An ERROR that names an interaction as a negotiation takes nothing from the interaction.
  state.task(named).look_at_ms = 7;
  talks.take(named, "x811/error");
  assert.deepEqual([state.data.talks, state.task(named).look_at_ms], [{}, 7]);
  talks.take(named, "x811.negotiation/counter");
  assert.deepEqual([Object.keys(state.data.talks), state.task(named).look_at_ms], [[named], 0]);
  state.close();

  // Decisions of a person, as `x811 approvals` leaves them.
  const asked = new Approvals(beside);
  const [file, question] = [join(beside, "approvals", `${named}.json`), { interaction: named, answer_by_ms: 61_000 }];
  asked.ask(question);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const yes = { answer: "approve", offer_hash: "h", total: "29725", at_ms: 60_999 };
  for (const [decision, counts] of [
    [yes, true], [{ ...yes, answer: "reject" }, true], [{ ...yes, offer_hash: "other" }, false], [{ ...yes, total: "29726" }, false],
    [{ ...yes, at_ms: 61_000 }, false], [{ ...yes, answer: "maybe" }, false], [null, false], ["approve", false], [undefined, false],
    [{ ...yes, at_ms: null }, false], [{ ...yes, at_ms: "1" }, false], [{ ...yes, at_ms: undefined }, false],
  ]) {
    asked.ask({ ...question, decision });
    assert.equal(asked.decision(named, "h", 29_725n) !== null, counts, JSON.stringify(decision));
  }
  for (const text of ["", "[]", "{", "7"]) {
    writeFileSync(file, text);
    assert.equal(asked.decision(named, "h", 29_725n), null, text);
  }
  asked.ask({ ...question, decision: yes });
  chmodSync(file, 0o620);
  assert.throws(() => asked.decision(named, "h", 29_725n), /chmod 600/);
  asked.forget(named);
  asked.forget(named);
  assert.equal(asked.read(named), null);
  assert.throws(() => asked.read("../state"), TypeError);
} finally {
  rmSync(beside, { recursive: true });
}

// Proof files: tests/vectors/README.md has the verdicts.
const vkey = readFileSync(join(tests, "vectors", "policy", "log"), "utf8").split(/\s/)[1];
const section = readFileSync(join(tests, "vectors", "README.md"), "utf8").split("## proof/")[1].split("\n## ")[0];
const verdicts = [...section.matchAll(/^\| `([^`]+)` \|.*\| ([a-z-]+) \|[^|]*\|$/gm)].map(([, name, verdict]) => [name, verdict]);
assert.equal(verdicts.length, readdirSync(join(tests, "vectors", "proof")).length);
const proofOf = (name) => readFileSync(join(tests, "vectors", "proof", `${name}.tlog-proof`), "utf8");
for (const [name, verdict] of verdicts) {
  if (verdict === "good") {
    assert.ok(name.startsWith(`${provenBy(proofOf(name), vkey)[0]}-of-`), name);
    assert.throws(() => provenBy(proofOf(name), `${vkey.slice(0, -4)}AAAA`), ProofFault);
  } else assert.throws(() => provenBy(proofOf(name), vkey), ProofFault, name);
}
assert.ok(verdicts.filter(([, verdict]) => verdict === "good").length > 8);
// Whatever it proves, it has to hold the envelope that was sent, at the place that was named.
const recordHash = createHash("sha256").update(Buffer.of(0)).update(provenBy(proofOf("0-of-1"), vkey)[1]).digest("hex");
const due = { position: 0, record_hash: recordHash, envelope_id: "e", digest: "d" };
for (const other of [due, { ...due, position: 1 }, { ...due, record_hash: "00".repeat(32) }])
  assert.throws(() => check(proofOf("0-of-1"), other, vkey), ProofFault);

// A stream that says nothing ends when its loop ends, whatever was collected meanwhile.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const silent = createServer((request, answer) => void answer.writeHead(200).write(": begun\n\n"));
await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
try {
  const over = new AbortController();
  const ledger = new Ledger(`http://127.0.0.1:${silent.address().port}`, new Keys(said.from, seed));
  const pages = ledger.stream(null, "one", over.signal);
  assert.deepEqual((await pages.next()).value, { messages: [], next: null });
  const ended = assert.rejects(pages.next(), Unreachable);
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise(setImmediate);
    collect();
  }
  over.abort();
  const late = new Promise((_, reject) => setTimeout(reject, 5_000, new Error("the stream goes on")).unref());
  await Promise.race([ended, late]);
} finally {
  silent.closeAllConnections();
  silent.close();
}

// An answer without end is read up to a limit; it may be an answer, a refusal, or a stream without an event.
const [piece, statuses] = [Buffer.alloc(1 << 20, "x"), { "/agents/answer": 200, "/agents/refusal": 500 }];
const endless = createServer((request, answer) => {
  const status = Object.entries(statuses).find(([path]) => request.url.includes(path))?.[1] ?? 200;
  const more = () => { while (answer.write(piece)); };
  answer.writeHead(status).on("drain", more);
  more();
});
await new Promise((resolve) => endless.listen(0, "127.0.0.1", resolve));
try {
  const ledger = new Ledger(`http://127.0.0.1:${endless.address().port}`, new Keys(said.from, seed));
  const tooLong = (fault) => fault instanceof Unreachable && /is longer than (67108864|8388608) bytes/.test(fault.message);
  for (const did of ["did:x811:answer", "did:x811:refusal"]) await assert.rejects(ledger.agent(did), tooLong);
  const pages = ledger.stream(null, "one");
  await pages.next();
  await assert.rejects(pages.next(), tooLong);
} finally {
  endless.closeAllConnections();
  endless.close();
}
console.log("forms hold");
