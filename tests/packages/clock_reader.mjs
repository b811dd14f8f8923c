// Reads a ledger through the npm package: as clock_reader.py, word for word.
import assert from "node:assert/strict";
import { Keys, Ledger, Refused } from "x811";

const [url, ...names] = process.argv.slice(2);
const keys = new Keys("did:x811:019c8c61-8129-7511-9f31-aa5142e65448", Buffer.from([...Array(32).keys()]));
const ledger = new Ledger(url, keys);
const reads = {
  read: () => ledger.interaction("019c8c61-8129-7511-9f31-aa5142e6544a"),
  stream: async () => {
    const pages = ledger.stream(null, "one");
    await pages.next();
    // Else the process waits for the next byte.
    await pages.return();
  },
  unsigned: () => ledger.trust(keys.did),
};

async function isAnswered(read) {
  try {
    await read();
    return true;
  } catch (refused) {
    assert.ok(refused instanceof Refused && ["X811-2002", "X811-2003"].includes(refused.code), refused);
    return false;
  }
}

const answered = [];
for (const name of names) answered.push(await isAnswered(reads[name]));
console.log(JSON.stringify(answered));
