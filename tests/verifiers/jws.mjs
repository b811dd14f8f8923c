// Checks agreements with jose (npm): code that shares nothing with ours. Jobs and answers as in jws.py.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { decodeProtectedHeader, generalVerify, importJWK } from "jose";

// Bitcoin's alphabet, of base58btc.
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

function hold(itDoes, why) {
  if (!itDoes) throw new Error(why);
}

function publicKey(kid) {
  const text = kid.slice(kid.indexOf("#") + 1);
  hold(text.startsWith("z"), "kid names no key in base58btc");
  let number = 0n;
  for (const letter of text.slice(1)) {
    const digit = ALPHABET.indexOf(letter);
    hold(digit >= 0, "kid names no key in base58btc");
    number = number * 58n + BigInt(digit);
  }
  const coded = Buffer.from(number.toString(16).padStart(68, "0"), "hex");
  hold(coded.length === 34 && coded[0] === 0xed && coded[1] === 0x01, "kid names no Ed25519 key");
  return coded.subarray(2).toString("base64url");
}

// This library is content with one signature that holds; each is asked for alone.
async function agreement(file) {
  const { payload, signatures } = JSON.parse(readFileSync(file, "utf8"));
  const signers = new Set();
  let signed;
  for (const signature of signatures) {
    const { kid } = decodeProtectedHeader(signature);
    const key = await importJWK({ kty: "OKP", crv: "Ed25519", x: publicKey(kid) }, "EdDSA");
    const one = { payload, signatures: [signature] };
    const verified = await generalVerify(one, key, { algorithms: ["EdDSA", "Ed25519"] });
    signed = JSON.parse(new TextDecoder().decode(verified.payload));
    signers.add(kid.slice(0, kid.indexOf("#")));
  }
  const both = signers.size === 2 && signers.has(signed.consumer) && signers.has(signed.provider);
  hold(both, "others signed it");
  return `revision ${signed.revision}`;
}

for await (const job of createInterface({ input: process.stdin })) {
  const [kind, file] = job.split("\t");
  hold(kind === "jws", "no such job");
  try {
    console.log(`ok\t${await agreement(file)}`);
  } catch (refusal) {
    console.log(`refused\t${String(refusal).replace(/\s+/g, " ")}`);
  }
}
