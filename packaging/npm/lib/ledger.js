// A ledger over HTTP: what is read and sent, and how answers are sorted (sections 4, 8 and 12).
import { verify } from "./keys.js";
import { senderTo } from "./outgoing.js";

/** How long an answer may take, in milliseconds; a poll may wait besides. */
const answerMs = 30_000;
/** A stream is dead after so long without a byte, in milliseconds: the first, and later ones. */
const [firstSilenceMs, silenceMs] = [10_000, 75_000];
/** The largest correction of the time of signed requests, in milliseconds. A ledger refuses messages that are further
 * off, too. */
const mostOffsetMs = 300_000;
/** The largest answer that is read, in bytes: a page of the largest envelopes. */
const mostBytes = 64 << 20;
/** The longest event of a stream, in bytes: an envelope of 1 MiB, and what its escapes add. */
const mostEventBytes = 8 << 20;

/** No answer, or one that is not the ledger's: try again. */
export class Unreachable extends Error {}

/** The ledger said no. */
export class Refused extends Error {
  constructor(status, body) {
    super(`${body.code} ${body.message ?? ""}`);
    [this.status, this.code, this.details] = [status, body.code, body.details ?? {}];
  }
}

/** Ends what is waited for when time is over or `over` is aborted, whether or not the request heeds its signal. */
class Limit {
  #controller = new AbortController();
  #abort = () => this.#controller.abort();
  #ended = new Promise((_, reject) => {
    this.#controller.signal.addEventListener("abort", () => reject(new Unreachable("it took too long, or was ended")));
  });
  #timer;

  constructor(ms, over) {
    this.over = over;
    // Nobody may be waiting when it ends.
    this.#ended.catch(() => {});
    over?.addEventListener("abort", this.#abort);
    if (over?.aborted) this.#abort();
    this.again(ms);
  }

  get signal() {
    return this.#controller.signal;
  }

  /** What the promise gives, unless the limit comes first. */
  wait(promise) {
    return Promise.race([promise, this.#ended]);
  }

  again(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#abort, ms);
  }

  end() {
    clearTimeout(this.#timer);
    this.over?.removeEventListener("abort", this.#abort);
    this.#abort();
  }
}

const uuidOf = (did) => did.slice(did.lastIndexOf(":") + 1);

/** One ledger as one agent uses it. */
export class Ledger {
  #info;
  #send;
  /** The ledger's time minus this machine's, as the last refusal named it. */
  #offsetMs = 0;

  constructor(url, keys) {
    const parsed = new URL(url);
    if (!["http:", "https:"].includes(parsed.protocol)) throw new TypeError(`not the address of a ledger: ${url}`);
    [this.url, this.keys] = [parsed.href.replace(/\/$/, ""), keys];
    [this.authority, this.prefix] = [parsed.host, parsed.pathname.replace(/\/$/, "")];
    this.#send = senderTo(parsed, process.env);
  }

  async #open(method, path, { query = {}, body, signed = true, headers = {}, signal } = {}) {
    const text = new URLSearchParams(query).toString();
    const own = signed ? this.keys.signedRead(method, this.authority, this.prefix + path, text, this.#offsetMs) : {};
    const all = { "content-type": "application/json", ...headers, ...own };
    try {
      return await this.#send(method, this.prefix + path + (text && `?${text}`), { headers: all, body, signal });
    } catch (lost) {
      // Of several addresses of one name, the first.
      throw new Unreachable(`${this.url} does not answer: ${lost.errors?.[0] ?? lost}`);
    }
  }

  /** The result of `ask()`, a signed request; it is signed once more by the ledger's clock if the ledger refuses its
   * time. Nothing else is taken from a refusal (decision 0297). */
  async #inTime(ask) {
    const usedMs = this.#offsetMs;
    try {
      return await ask();
    } catch (refused) {
      const namedMs = refused instanceof Refused ? refused.details.offset_ms : undefined;
      const isAboutTime = refused.status === 401 && refused.code === "X811-2002" && Number.isSafeInteger(namedMs);
      if (!isAboutTime || Math.abs(usedMs + namedMs) > mostOffsetMs) throw refused;
      this.#offsetMs = usedMs + namedMs;
    }
    return ask();
  }

  #call(method, path, options) {
    const ask = () => this.#callOnce(method, path, options);
    return options?.signed === false ? ask() : this.#inTime(ask);
  }

  async #callOnce(method, path, options = {}) {
    const limit = new Limit(answerMs + (options.waitMs ?? 0), options.over);
    let answer;
    try {
      answer = await limit.wait(this.#open(method, path, { ...options, signal: limit.signal }));
      return this.#sorted(answer.statusCode, await limit.wait(this.#text(answer)));
    } catch (lost) {
      if (lost instanceof Refused || lost instanceof Unreachable) throw lost;
      throw new Unreachable(`the answer of ${this.url} broke off: ${lost}`);
    } finally {
      limit.end();
      answer?.destroy();
    }
  }

  async #text(answer) {
    const chunks = [];
    let bytes = 0;
    for await (const chunk of answer) {
      bytes += chunk.length;
      if (bytes > mostBytes) throw this.#tooLong(mostBytes);
      chunks.push(chunk);
    }
    return new TextDecoder().decode(Buffer.concat(chunks));
  }

  #tooLong = (most) => new Unreachable(`the answer of ${this.url} is longer than ${most} bytes`);

  #sorted(status, text) {
    if (status < 300) return text;
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      body = null;
    }
    if (typeof body?.code !== "string") throw new Unreachable(`${this.url} answers ${status}, and not as a ledger`);
    throw new Refused(status, body);
  }

  /** A JSON document. */
  async read(path, options) {
    return JSON.parse(await this.#call("GET", path, options));
  }

  /** `/.well-known/x811.json`, read once. */
  async info() {
    this.#info ??= await this.read("/.well-known/x811.json", { signed: false });
    return this.#info;
  }

  /** Sends an envelope, byte for byte; its answer, also when it was taken before. */
  async send(envelope) {
    try {
      return JSON.parse(await this.#call("POST", "/api/v1/messages", { body: envelope, signed: false }));
    } catch (refused) {
      const first = refused instanceof Refused ? refused.details.first : undefined;
      if (first?.position !== undefined && first.envelope_id === JSON.parse(envelope).id) return first;
      throw refused;
    }
  }

  /** `{first, envelope}` of an accepted message; Refused with status 404 where there is none. */
  byId = (id) => this.read(`/api/v1/messages/by-id/${id}`);

  interaction = (id) => this.read(`/api/v1/interactions/${id}`);

  settlement = (id) => this.read(`/api/v1/interactions/${id}/settlement`);

  /** The records of a negotiation, oldest first. */
  async negotiation(id) {
    const records = [];
    for (let after; ; ) {
      const query = after === undefined ? {} : { after_seq: after };
      const page = await this.read(`/api/v1/negotiations/neg-${id}/history`, { query });
      records.push(...page.records);
      // A page that does not move on would be read for ever.
      if (page.next === undefined || page.next === null || page.next <= after) return records;
      after = page.next;
    }
  }

  /** The proof file of a record: that it is under a checkpoint. Nothing is checked by reading it. */
  proof = (position) => this.#call("GET", `/api/v1/records/${position}/proof`);

  agent = (did) => this.read(`/api/v1/agents/${uuidOf(did)}`, { signed: false });

  trust = (did) => this.read(`/api/v1/agents/${uuidOf(did)}/trust`, { signed: false });

  /** A page of messages behind `after`, from the first without it. */
  inbox(after, waitMs, instance, over) {
    const query = { wait_ms: waitMs, ...(after && { after }), ...(instance && { instance }) };
    return this.read(this.#mine(), { query, waitMs, over });
  }

  /** Says that the agent is there for the next `ttlS` seconds. */
  async heartbeat(ttlS) {
    await this.#call("POST", `/api/v1/agents/${uuidOf(this.keys.did)}/heartbeat`, { query: { ttl_s: ttlS } });
  }

  async acknowledge(through) {
    await this.#call("POST", `${this.#mine()}/ack`, { query: { through } });
  }

  /** Pages of one message as they come, at first an empty one; ends by throwing. */
  async *stream(after, instance, over) {
    const limit = new Limit(firstSilenceMs, over);
    let answer;
    try {
      const headers = { accept: "text/event-stream" };
      const query = { instance, ...(after && { after }) };
      answer = await this.#inTime(async () => {
        const opened = await limit.wait(this.#open("GET", `${this.#mine()}/stream`, { query, headers, signal: limit.signal }));
        if (opened.statusCode !== 200) this.#sorted(opened.statusCode, await limit.wait(this.#text(opened)));
        return opened;
      });
      const chunks = answer[Symbol.asyncIterator]();
      const decoder = new TextDecoder();
      yield { messages: [], next: null };
      let [text, place] = ["", undefined];
      for (let chunk; !(chunk = await limit.wait(chunks.next())).done; ) {
        limit.again(silenceMs);
        text += decoder.decode(chunk.value, { stream: true });
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
          const lines = text.slice(0, end).split("\n");
          const [name, data] = ["event: ", "data: "].map((field) => lines.find((line) => line.startsWith(field))?.slice(field.length));
          // Of an erased message there is the place alone; the next message steps over it.
          if (name === "place") place = JSON.parse(data);
          else if (name === "message" && place)
            yield { messages: [{ ...place, envelope: JSON.parse(data) }], next: place.cursor };
        }
        if (text.length > mostEventBytes) throw this.#tooLong(mostEventBytes);
      }
    } catch (lost) {
      throw lost instanceof Refused ? lost : new Unreachable(`the stream broke off: ${lost}`);
    } finally {
      limit.end();
      answer?.destroy();
    }
    throw new Unreachable("the stream ended");
  }

  /** Signed by a key that its sender had at that position, as the ledger's records of keys say. */
  async isVerified(envelope, position) {
    let [keys, after] = [[], undefined];
    do {
      const query = after === undefined ? {} : { after_seq: after };
      let page;
      try {
        page = await this.read(`/api/v1/agents/${uuidOf(String(envelope.from))}/keys`, { query, signed: false });
      } catch (fault) {
        if (fault instanceof Refused && fault.status === 404) return false;
        throw fault;
      }
      for (const { position: at, leaf: { event } } of page.records) {
        if (event.type === "agent_registered" && at <= position) keys = event.keys;
        else if (event.type === "key_rotated" && at < position)
          keys = keys.map((known) => (known.key === event.old_key ? event.new_key : known));
      }
      after = page.next ?? undefined;
    } while (after !== undefined);
    return verify(envelope, keys);
  }

  #mine() {
    return `/api/v1/messages/${uuidOf(this.keys.did)}`;
  }
}
