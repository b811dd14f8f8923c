// A provider of `upper` at an x811 ledger, from docs/connect.md alone: it registers, offers, works,
// delivers, waits until it is paid, and checks the proof of that.
//
//     npm ci && npm run build && node dist/provider.js http://127.0.0.1:8811 0xYourAccountWithItsChecksum
//
// Through a proxy, with Node 22.21 or 24.5 and later: NODE_USE_ENV_PROXY=1 NO_PROXY=localhost,127.0.0.1
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, randomUUID, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";

type Members = Record<string, any>;
type Envelope = { id: string; type: string; from: string; payload: Members; signature: string };

const [ledger, account] = [process.argv[2].replace(/\/$/, ""), process.argv[3]];
const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const raw = (key: KeyObject) => key.export({ format: "der", type: "spki" }).subarray(-32);
const sha256 = (...parts: Uint8Array[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

// RFC 8785: JSON.stringify writes numbers and strings in that very form, and sort goes by UTF-16 units.
function canonical(value: any): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}

function uuid7(): string {
  const hex = Date.now().toString(16).padStart(12, "0") + "7" + randomBytes(8).toString("hex").slice(1);
  const last = "8" + randomBytes(8).toString("hex").slice(1, 4) + randomBytes(6).toString("hex");
  const all = hex.slice(0, 16) + last;
  return [all.slice(0, 8), all.slice(8, 12), all.slice(12, 16), all.slice(16, 20), all.slice(20)].join("-");
}

function multibase(key: Uint8Array): string {
  let [number, text] = [BigInt("0xed01" + Buffer.from(key).toString("hex")), ""];
  for (; number > 0n; number /= 58n) text = base58[Number(number % 58n)] + text;
  return "z" + text;
}

function publicKeyOf(key: Uint8Array): KeyObject {
  const prefix = Buffer.from("302a300506032b6570032100", "hex");
  return createPublicKey({ key: Buffer.concat([prefix, key]), format: "der", type: "spki" });
}

const me = `did:x811:${uuid7()}`;
const publicText = multibase(raw(publicKey));

// One request; reads of one's own are signed as RFC 9421 says (section 9).
async function call(method: string, path: string, query = "", body?: string, signed = true): Promise<Response> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (signed && body === undefined) {
    let covered = '("@method" "@authority" "@path" "@query")';
    covered += `;created=${Math.floor(Date.now() / 1000)};nonce="${randomBytes(16).toString("base64url")}"`;
    covered += `;keyid="${me}#${publicText}";alg="ed25519"`;
    let base = `"@method": ${method}\n"@authority": ${new URL(ledger).host}\n"@path": ${path}\n`;
    base += `"@query": ?${query}\n"@signature-params": ${covered}`;
    headers["signature-input"] = `sig=${covered}`;
    headers["signature"] = `sig=:${sign(null, Buffer.from(base), privateKey).toString("base64")}:`;
  }
  return fetch(ledger + path + (query && `?${query}`), { method, headers, body });
}

async function read(path: string, query = "", signed = true): Promise<Members> {
  const answer = await call("GET", path, query, undefined, signed);
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return answer.json() as Promise<Members>;
}

// Signs a message, and sends the same bytes until there is an answer (sections 2 to 4).
async function say(to: string, type: string, payload: Members): Promise<string> {
  const created = new Date().toISOString();
  const said = { version: "0.1.0", id: uuid7(), type, from: me, to, created, nonce: randomUUID(), payload };
  const signature = sign(null, sha256(Buffer.from(canonical(said))), privateKey).toString("base64url");
  const body = JSON.stringify({ ...said, signature });
  for (;;) {
    try {
      const answer = await call("POST", "/api/v1/messages", "", body);
      if (answer.ok) return said.id;
      const refused = (await answer.json()) as Members;
      if (refused.details?.first?.position !== undefined) return said.id; // its answer was lost
      if (!["X811-9001", "X811-9002", "X811-3003"].includes(refused.code)) {
        console.log(`${type} refused:`, refused);
        process.exit(1);
      }
    } catch (lost) {
      console.log("no answer yet:", lost);
    }
    await new Promise((later) => setTimeout(later, 1_000));
  }
}

// Signed by a key of its sender's DID document (section 3); else it is passed over.
async function isVerified({ signature, ...said }: Envelope): Promise<boolean> {
  const document = await read(`/api/v1/agents/${said.from.slice(9)}/did`, "", false);
  const digest = sha256(Buffer.from(canonical(said)));
  return document.verificationMethod.some((method: Members) => {
    const letters = [...method.publicKeyMultibase.slice(1)];
    const number = letters.reduce((sum, letter) => sum * 58n + BigInt(base58.indexOf(letter)), 0n);
    const key = publicKeyOf(Buffer.from(number.toString(16).padStart(68, "0").slice(4), "hex"));
    return verify(null, digest, key, Buffer.from(signature, "base64url"));
  });
}

async function register(ledgerDid: string): Promise<void> {
  const method = { id: `${me}#${publicText}`, controller: me, type: "Ed25519VerificationKey2020", publicKeyMultibase: publicText };
  const document = { "@context": ["https://www.w3.org/ns/did/v1"], id: me, authentication: [method.id], verificationMethod: [method] };
  await say(ledgerDid, "x811.registry/register", { document, capabilities: ["upper"] });
  console.log("registered", me);
}

const offer = (request: Envelope): Promise<string> =>
  say(request.from, "x811/offer", {
    request_id: request.id, price: "0.01", protocol_fee: "0.00025", total_cost: "0.01025", currency: "USDC",
    estimated_time: 5, deliverables: ["the text in capitals"], expiry: 60, payment_address: account,
  });

function deliver(request: Envelope, offerId: string): Promise<string> {
  const content: string = request.payload.parameters.text.toUpperCase();
  return say(request.from, "x811/result", {
    request_id: request.id, offer_id: offerId, content_type: "text/plain", content,
    result_hash: sha256(Buffer.from(content)).toString("hex"), execution_time_ms: 1,
  });
}

// The record that says it is paid is under a checkpoint that the ledger signed.
async function prove(vkey: string, interaction: string): Promise<void> {
  const receipt = await read(`/api/v1/interactions/${interaction}/receipt`);
  const proof = await (await call("GET", `/api/v1/records/${receipt.confirmed.position}/proof`)).text();
  const [head, text, signatures] = proof.split("\n\n");
  const [, extra, index, ...path] = head.split("\n");
  const [, size, root] = text.split("\n");
  const key = publicKeyOf(Buffer.from(vkey.split("+").slice(2).join("+"), "base64").subarray(1));
  const signature = Buffer.from(signatures.split("\n")[0].split(" ")[2], "base64").subarray(4);
  if (!verify(null, Buffer.from(text + "\n"), key, signature)) throw new Error("not signed by the ledger");
  const leaf = Buffer.from(extra.slice(6), "base64");
  let [at, last, node] = [Number(index.slice(6)), Number(size) - 1, sha256(Buffer.of(0), leaf)];
  for (const beside of path.map((line) => Buffer.from(line, "base64"))) { // RFC 9162, section 2.1.3.2
    if (at % 2 === 1 || at === last) {
      node = sha256(Buffer.of(1), beside, node);
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else node = sha256(Buffer.of(1), node, beside);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  const { stream, event } = JSON.parse(leaf.toString());
  if (last !== 0 || node.toString("base64") !== root) throw new Error("not under the checkpoint");
  if (stream !== `interaction:${interaction}` || event.type !== "confirmed") throw new Error("another record");
  console.log("paid and proven", interaction, "record", receipt.confirmed.position);
}

const info = await read("/.well-known/x811.json", "", false);
await register(info.did);
const [requests, awaited] = [new Map<string, Envelope>(), new Set<string>()];
for (let after = ""; ; ) {
  const page = await read(`/api/v1/messages/${me.slice(9)}`, `${after}wait_ms=5000`);
  after = `after=${page.next}&`;
  for (const { envelope } of page.messages as { envelope: Envelope }[]) {
    if (envelope.from === info.did || !(await isVerified(envelope))) console.log("passed over:", envelope.payload);
    else if (envelope.type === "x811/request") requests.set(await offer(envelope), envelope);
    else if (envelope.type === "x811/accept") {
      const request = requests.get(envelope.payload.offer_id);
      if (request) await deliver(request, envelope.payload.offer_id);
    } else if (envelope.type === "x811/payment") awaited.add(envelope.payload.request_id);
  }
  for (const interaction of awaited) {
    const where = await read(`/api/v1/interactions/${interaction}/settlement`);
    if (where.paid !== "yes") continue;
    await prove(info.checkpoint_vkey, interaction);
    awaited.delete(interaction);
  }
}
