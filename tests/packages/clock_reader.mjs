// Two reads and a stream through the npm package: as clock_reader.py, word for word.
import assert from "node:assert/strict";
import { Keys, Ledger, Refused } from "x811";

const keys = new Keys("did:x811:019c8c61-8129-7511-9f31-aa5142e65448", Buffer.from([...Array(32).keys()]));
const ledger = new Ledger(process.argv[2], keys);

async function isAnswered(read) {
  try {
    await read();
    return true;
  } catch (refused) {
    assert.ok(refused instanceof Refused && refused.code === "X811-2002", refused);
    return false;
  }
}

const reads = [() => ledger.byId("one"), () => ledger.byId("two"), () => ledger.stream(null, "one").next()];
const answered = [];
for (const read of reads) answered.push(await isAnswered(read));
console.log(JSON.stringify(answered));
