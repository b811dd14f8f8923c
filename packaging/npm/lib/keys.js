// Keys, and envelopes sealed and verified by them (docs/connect.md, sections 2, 3 and 9).
import { createHash, createPrivateKey, createPublicKey, randomBytes, randomUUID, sign, verify as check } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { plain } from "./plain.js";

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** What stands before an Ed25519 key in multicodec. */
const ed25519 = "ed01";
/** What stands before the 32 bytes of a key in DER: a private one (RFC 8410), a public one. */
const [pkcs8, spki] = ["302e020100300506032b657004220420", "302a300506032b6570032100"];

/** SHA-256 of bytes or of a text in UTF-8. */
export const sha256 = (data) => createHash("sha256").update(data).digest();

/** The RFC 8785 form: JSON.stringify writes numbers and strings so, and sort goes by UTF-16 units. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}

/** A public key of 32 bytes as documents write it, `z6Mk…`. */
export function multibase(key) {
  let [number, text] = [BigInt(`0x${ed25519}${Buffer.from(key).toString("hex")}`), ""];
  for (; number > 0n; number /= 58n) text = base58[Number(number % 58n)] + text;
  return `z${text}`;
}

/** The text where it is a UUID as the protocol writes them, else null; of nothing else a file is made. */
export const asUuid = (text) => (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : null);

/** SHA-256 of what is signed, in hex: the record of the envelope names it. */
export const digestOf = ({ signature, ...said }) => sha256(canonical(said)).toString("hex");

/** The key of 32 bytes. */
export const publicKey = (bytes) =>
  createPublicKey({ key: Buffer.concat([Buffer.from(spki, "hex"), bytes]), format: "der", type: "spki" });

function fromMultibase(text) {
  const number = [...text.slice(1)].reduce((sum, letter) => sum * 58n + BigInt(base58.indexOf(letter)), 0n);
  const hex = number.toString(16);
  if (text[0] !== "z" || hex.length !== 68 || !hex.startsWith(ed25519)) throw new TypeError(`no Ed25519 key: ${text}`);
  return publicKey(Buffer.from(hex.slice(4), "hex"));
}

function uuid7(atMs) {
  const random = randomBytes(10);
  random[0] = 0x70 | (random[0] & 0x0f);
  random[2] = 0x80 | (random[2] & 0x3f);
  const hex = atMs.toString(16).padStart(12, "0") + random.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const signedPart = (body, profile) => (profile === "direct" ? Buffer.from(body) : sha256(body));

/** Whether one of `keys` (`{key, profile}`, as the registry has them) signed the envelope. */
export function verify({ signature, ...said }, keys) {
  try {
    const body = canonical(said);
    const bytes = Buffer.from(signature, "base64url");
    return keys.some((known) => check(null, signedPart(body, known.profile), fromMultibase(known.key), bytes));
  } catch {
    return false;
  }
}

/** The signing key of one agent. */
export class Keys {
  #key;

  constructor(did, seed, profile = "digest") {
    this.#key = createPrivateKey({ key: Buffer.concat([Buffer.from(pkcs8, "hex"), seed]), format: "der", type: "pkcs8" });
    this.did = did;
    this.profile = profile;
    this.public = multibase(createPublicKey(this.#key).export({ format: "der", type: "spki" }).subarray(-32));
  }

  /** Those of an agent that `x811 agent new NAME` made in that directory (mode 0600). */
  static ofHome(home, name) {
    const path = join(home, "agents", `${name}.json`);
    const mode = statSync(path).mode & 0o777;
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw new Error(`${path} has mode ${mode.toString(8)}, so others can read the keys in it; ` +
        "run `chmod 600` on it, and make a new agent if someone may have");
    const agent = JSON.parse(readFileSync(path, "utf8"));
    return new Keys(agent.did, Buffer.from(agent.signing_key, "hex"), agent.profile);
  }

  sign(data) {
    return sign(null, data, this.#key);
  }

  /** A signed envelope, with a new id and nonce, and the payload as JSON has it. Throws a TypeError that names the
   * member where JSON cannot represent one. Sealing sends nothing. */
  seal(to, type, payload) {
    const at = new Date();
    const said = {
      version: "0.1.0", id: uuid7(at.getTime()), type, from: this.did, to, created: at.toISOString(),
      nonce: randomUUID(), payload: plain(payload),
    };
    return { ...said, signature: this.sign(signedPart(canonical(said), this.profile)).toString("base64url") };
  }

  /** The headers that make a request one of this agent (RFC 9421), good for one try; signed at the time of a clock
   * that is `offsetMs` ahead of this machine's. */
  signedRead(method, authority, path, query, offsetMs = 0) {
    const covered = '("@method" "@authority" "@path" "@query")' +
      `;created=${Math.floor((Date.now() + offsetMs) / 1000)};nonce="${randomBytes(16).toString("base64url")}"` +
      `;keyid="${this.did}#${this.public}";alg="ed25519"`;
    const base = `"@method": ${method}\n"@authority": ${authority}\n"@path": ${path}\n` +
      `"@query": ?${query}\n"@signature-params": ${covered}`;
    return { "signature-input": `sig=${covered}`, signature: `sig=:${this.sign(Buffer.from(base)).toString("base64")}:` };
  }
}
