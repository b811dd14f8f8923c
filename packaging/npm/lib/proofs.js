// Proofs that what was acknowledged is in the log (C2SP tlog-proof), checked before they are kept.
//
// The 202 of a ledger is unsigned: it could take a RESULT and record its lapse. So a loop fetches the proof of each
// record that binds somebody from a checkpoint, and keeps it; `x811 audit LOG --proofs FOLDER` reads them.
import { verify } from "node:crypto";
import { publicKey, sha256 } from "./keys.js";

/** Messages whose proof is kept. */
export const proven = ["accept", "result", "verify", "payment"];
/** Between one try and the next, and until a person is told, in milliseconds. */
export const [retryMs, alarmAfterMs] = [5_000, 60_000];
/** The most hashes that a proof can need. */
const mostHashes = 63;

/** It does not prove what it should. */
export class ProofFault extends Error {}

const [leaf, node] = [Buffer.of(0), Buffer.of(1)];
const hash = (...parts) => sha256(Buffer.concat(parts));

function fromBase64(text, what, length) {
  const data = Buffer.from(text, "base64");
  if (data.toString("base64") !== text || (length !== undefined && data.length !== length))
    throw new ProofFault(`${what} is not as it has to be`);
  return data;
}

function decimal(text, what) {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(text)) throw new ProofFault(`${what} is no whole number`);
  return BigInt(text);
}

/** `[size, root]` of a checkpoint that this key signed. */
export function checkpoint(note, vkey) {
  const [name, keyId, ...rest] = vkey.split("+");
  const key = fromBase64(rest.join("+"), "the key of the ledger", 33);
  if (key[0] !== 1 || hash(Buffer.from(`${name}\n`), key).subarray(0, 4).toString("hex") !== keyId)
    throw new ProofFault("the key of the ledger is no Ed25519 key of a log");
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || !note.endsWith("\n") || end + 2 === note.length || note.includes("\r")) throw new ProofFault("there is no checkpoint");
  const [body, lines] = [note.slice(0, end + 1), note.slice(end + 2, -1).split("\n")];
  let isSigned = false;
  for (const line of lines) {
    const [dash, named, text = ""] = line.split(" ");
    const signature = fromBase64(text, "a signature of the checkpoint");
    if (dash !== "\u2014" || named !== name || signature.subarray(0, 4).toString("hex") !== keyId) continue;
    if (!verify(null, Buffer.from(body), publicKey(key.subarray(1)), signature.subarray(4)))
      throw new ProofFault("the checkpoint has a signature that its key did not make");
    isSigned = true;
  }
  if (!isSigned) throw new ProofFault("the checkpoint is not signed by the key of the ledger");
  const [origin, size, root, ...more] = body.split("\n");
  if (origin !== name || more.join() !== "" || more.length !== 1) throw new ProofFault("the checkpoint is of another log");
  return [decimal(size, "its size"), fromBase64(root, "its root", 32)];
}

/** RFC 9162, section 2.1.3.2. */
function rootOf(record, index, size, path) {
  if (index >= size) throw new ProofFault("the record is behind the checkpoint");
  let [at, last, root] = [index, size - 1n, hash(leaf, record)];
  for (const beside of path) {
    if (last === 0n) throw new ProofFault("it has too many hashes");
    if (at % 2n === 1n || at === last) {
      root = hash(node, beside, root);
      for (; at > 0n && at % 2n === 0n; last /= 2n) at /= 2n;
    } else root = hash(node, root, beside);
    [at, last] = [at / 2n, last / 2n];
  }
  if (last !== 0n) throw new ProofFault("it has too few hashes");
  return root;
}

/** `[position, record]` of a proof file: the bytes of the record that it proves. */
export function provenBy(text, vkey) {
  const end = text.indexOf("\n\n");
  const [first, ...lines] = text.slice(0, Math.max(end, 0)).split("\n");
  if (first !== "c2sp.org/tlog-proof@v1") throw new ProofFault("it is no proof file with a checkpoint");
  if (!lines[0]?.startsWith("extra ") || !lines[1]?.startsWith("index ")) throw new ProofFault("it has no record, or no index");
  const [record, index] = [fromBase64(lines[0].slice(6), "the record"), decimal(lines[1].slice(6), "its index")];
  if (lines.length - 2 > mostHashes) throw new ProofFault("it has too many hashes");
  const path = lines.slice(2).map((line) => fromBase64(line, "a hash", 32));
  const [size, root] = checkpoint(text.slice(end + 2), vkey);
  if (!rootOf(record, index, size, path).equals(root)) throw new ProofFault("it leads to another root");
  return [Number(index), record];
}

/** Throws ProofFault unless the file proves that the record that was named holds the envelope that was sent. */
export function check(text, due, vkey) {
  const [index, record] = provenBy(text, vkey);
  if (index !== due.position || hash(leaf, record).toString("hex") !== due.record_hash)
    throw new ProofFault("it proves another record than the one that was acknowledged");
  let head;
  try {
    head = JSON.parse(record.toString()).event?.envelope;
  } catch {
    head = undefined;
  }
  if (head?.id !== due.envelope_id || head?.digest !== due.digest)
    throw new ProofFault("the record does not hold the envelope that was sent");
}
