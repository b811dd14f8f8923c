// What the npm package seals is what it sends: a payload as JSON has it, or a fault that names the member.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Caps, Initiator, Keys, Ledger, Provider, verify } from "x811";

const folderOf = dirname(createRequire(import.meta.url).resolve("x811"));
const { State } = await import(pathToFileURL(join(folderOf, "state.js")));

const [me, other] = ["did:x811:019c8c61-8129-7511-9f31-aa5142e65448", "did:x811:019c8c61-8129-7511-9f31-aa5142e65449"];
const keys = new Keys(me, Buffer.alloc(32, 7));
const known = [{ key: keys.public, profile: "digest" }];
const folder = mkdtempSync(join(tmpdir(), "x811-payloads-"));
const state = new State(folder, me, other);

/** The payload as it leaves; its signature is verified as the ledger does, over what was read from the text. */
function sent(payload) {
  const envelope = keys.seal(other, "x811/request", payload);
  state.put("i", "request", envelope);
  const { envelope: text } = state.outbox.at(-1);
  const read = JSON.parse(text);
  assert.ok(verify(read, known), text);
  // However a caller writes the sealed envelope itself.
  assert.deepEqual(JSON.parse(JSON.stringify(envelope)), read);
  return read.payload;
}

const when = new Date(0);
const shared = { a: 1 };
for (const [payload, expected] of [
  [{ a: undefined, b: 1 }, { b: 1 }],
  [{ when, list: [when] }, { when: "1970-01-01T00:00:00.000Z", list: ["1970-01-01T00:00:00.000Z"] }],
  [{ own: { toJSON: () => ({ b: when, c: undefined }) } }, { own: { b: "1970-01-01T00:00:00.000Z" } }],
  [{ zero: -0, tiny: 1e-7, most: 2 ** 53 - 1, least: 1 - 2 ** 53, half: 0.5 }, { zero: 0, tiny: 1e-7, most: 2 ** 53 - 1, least: 1 - 2 ** 53, half: 0.5 }],
  [{ "\u{1f600}": "\u{1f600}", "\ufb33": "\u2028\u0000\"", "": null, "10": true, "9": false }, { "\u{1f600}": "\u{1f600}", "\ufb33": "\u2028\u0000\"", "": null, "10": true, "9": false }],
  [{ one: shared, two: [shared, shared] }, { one: { a: 1 }, two: [{ a: 1 }, { a: 1 }] }],
  [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
  [{ [Symbol("unseen")]: 1, bytes: Buffer.from("a"), nothing: null }, { bytes: { type: "Buffer", data: [97] }, nothing: null }],
]) assert.deepEqual(sent(payload), expected);

// What changes after it was sealed changes nothing.
const parameters = { items: [1] };
const sealed = keys.seal(other, "x811/request", { parameters });
parameters.items.push(2);
assert.ok(verify(sealed, known));

const under = (levels, inner) => (levels === 0 ? inner : { a: under(levels - 1, inner) });
assert.ok(sent(under(126, {})));
const circle = {};
circle.self = circle;
for (const [payload, path, todo] of [
  [{ parameters: { items: [0, 1, { when: undefined }, undefined] } }, "parameters.items[3] is undefined", "null"],
  [{ parameters: { items: [1, , 3] } }, "parameters.items[1] is undefined", "null"],
  [{ parameters: { items: [{}, {}, { when: new Date(NaN) }] } }, "parameters.items[2].when is an invalid Date", "null"],
  [{ a: { b: NaN } }, "a.b is NaN", "null"], [{ a: Infinity }, "a is Infinity", "null"], [{ a: [-Infinity] }, "a[0] is -Infinity", "null"],
  [{ a: { "two words": 1n } }, 'a["two words"] is a BigInt', "String(value)"],
  [{ a: 2 ** 53 }, "a is 9007199254740992", "text"], [{ a: -1e300 }, "a is -1e+300", "text"],
  [{ a: () => 1 }, "a is a function", "leave it out"], [{ a: [Symbol("s")] }, "a[0] is a symbol", "leave it out"],
  [{ é: "\ud800" }, "é has a lone surrogate", "toWellFormed"], [{ a: { "\udc00": 1 } }, 'a["\\udc00"] has a name with a lone surrogate', "toWellFormed"],
  [{ a: new Map([[1, 2]]) }, "a is a Map", "Object.fromEntries"], [{ a: new Set([1]) }, "a is a Set", "[...value]"],
  [{ a: { toJSON: () => ({ b: 1n }) } }, "a.b is a BigInt", "String(value)"],
  [under(127, {}), "a.a.a", "126"], [circle, "", "circular"], [undefined, "the payload is undefined", ""],
]) {
  assert.throws(() => keys.seal(other, "x811/request", payload), (fault) => {
    assert.ok(fault instanceof TypeError && fault.message.startsWith(path) && fault.message.includes(todo), fault.message);
    return true;
  });
}

// An order is refused before a loop begins with any.
const ledger = new Ledger("http://127.0.0.1:1", keys);
const order = { key: "one", provider: other, taskType: "upper", maxBudget: "0.02", deadlineS: 60 };
assert.throws(() => new Initiator({
  ledger, folder, caps: new Caps({ perInteraction: "1", perDay: "1" }), pay: () => {}, decide: () => true,
  orders: [order, { ...order, key: "two", parameters: { items: [{ when: 1n }] } }],
}), /^TypeError: orders\[1\]\.parameters\.items\[0\]\.when is a BigInt/);

// Work that cannot be sent is a failure of the work, and is told; it does not end the loop.
for (const [product, reason] of [
  [{ content: "\ud800" }, "content has a lone surrogate"], [{ content: "good", methodology: [NaN] }, "methodology[0] is NaN"],
  [{ contentType: "text/plain" }, "TypeError"], [undefined, "TypeError"],
]) {
  const provider = new Provider({ ledger, folder, quote: () => null, work: () => product });
  provider.state = state;
  state.data.outbox = [];
  state.tasks.t = { look_at_ms: 0, steps: {}, work_started_ms: 0, envelopes: { request: { from: other }, accept: { payload: { offer_id: "o" } } } };
  provider.told("worked", "t", product, null);
  const [{ act, envelope }] = state.outbox;
  assert.equal(act, "error");
  assert.ok(JSON.parse(envelope).payload.message.includes(reason), envelope);
}
// A message that is cut within a character.
const provider = new Provider({ ledger, folder, quote: () => null, work: () => "" });
provider.state = state;
state.data.outbox = [];
state.tasks.t.steps = {};
provider.told("worked", "t", null, `${"a".repeat(499)}\u{1f600}`);
assert.ok(JSON.parse(state.outbox[0].envelope).payload.message.endsWith("a\ufffd"));
state.close();
rmSync(folder, { recursive: true });
console.log("payloads hold");
