// Reads a ledger through the npm package: as reader.py, word for word.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Keys, Ledger, Unreachable } from "x811";

const folderOf = dirname(createRequire(import.meta.url).resolve("x811"));
const { proxyFor } = await import(pathToFileURL(join(folderOf, "outgoing.js")));

const [url, cases] = process.argv.slice(2);
const keys = new Keys("did:x811:019c8c61-8129-7511-9f31-aa5142e65448", Buffer.from([...Array(32).keys()]));

function named({ url: asked, environment }) {
  try {
    const proxy = proxyFor(new URL(asked), environment);
    return proxy && `${proxy.address.hostname}:${proxy.address.port || 80}`;
  } catch (fault) {
    assert.match(fault.message, /NO_PROXY/);
    return "fault";
  }
}

for (const one of JSON.parse(cases)) assert.equal(named(one), one.proxy, JSON.stringify(one));
try {
  const ledger = new Ledger(url, keys);
  // Twice, as loops do.
  assert.deepEqual(await ledger.trust(keys.did), await ledger.trust(keys.did));
  let message;
  for await (const { messages } of ledger.stream(null, "one")) {
    [message] = messages;
    if (message) break;
  }
  console.log(JSON.stringify({ info: await ledger.info(), message }));
} catch (fault) {
  if (!(fault instanceof Unreachable || fault instanceof TypeError)) throw fault;
  console.log(JSON.stringify({ fault: fault.message }));
}
