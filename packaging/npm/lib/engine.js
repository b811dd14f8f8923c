// The loop that Provider and Initiator share: feed → verify → decide → seal → send.
//
// What is sealed is in the state file before it is sent, and the cursor moves with what follows from a
// message, so a loop may be killed anywhere: the next one sends the same bytes and decides nothing twice.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { follow, reconnectMs } from "./feed.js";
import { negotiationOf } from "./haggling.js";
import { asUuid, digestOf } from "./keys.js";
import { Refused, Unreachable } from "./ledger.js";
import { asksFirst, fateOfAbsence, fateOfRefusal, postpone } from "./outbox.js";
import * as proofs from "./proofs.js";
import { State, replace } from "./state.js";

/** States after which nothing is said any more. */
const overStates = ["completed", "expired", "rejected", "disputed", "failed"];
/** How often an interaction is looked at while a transfer is awaited, in milliseconds. */
export const paymentLookMs = 3_000;
/** When it is looked at after a window should have lapsed, in milliseconds. */
const afterLapseMs = 10_000;
/** How long a heartbeat is good, in seconds, and the time between two, in milliseconds: two may be lost. */
const [heartbeatTtlS, heartbeatEveryMs] = [300, 100_000];
/** Messages of an interaction that are kept until it is over. */
const kept = ["request", "offer", "accept", "result"];

/** A newer loop of the same agent reads the feed: this one must send nothing more. */
export class Replaced extends Error {}

/** One agent at one ledger, with a folder of its own. Proofs are held against `checkpointKey`, else against the key
 * that the ledger names at the start. */
export class Loop {
  #news = [];
  #wake = () => {};
  #over = new AbortController();
  #isConnected = false;
  #ack = { through: null, failures: 0, notBeforeMs: 0 };
  #heart;
  #watch;

  /** @param {"provider" | "initiator"} role the side of an interaction that it takes */
  constructor(role, { ledger, folder, watch = () => {}, checkpointKey }) {
    [this.role, this.ledger, this.folder, this.me] = [role, ledger, folder, ledger.keys.did];
    [this.#watch, this.checkpointKey, this.talks] = [watch, checkpointKey, null];
  }

  /** Acts until `stop` is called or `until()` is true. Rejects with Replaced where another loop took over. */
  async run(until = () => false) {
    const info = await this.ledger.info();
    this.checkpointKey ??= info.checkpoint_vkey;
    if (!this.checkpointKey) throw new TypeError("the ledger names no checkpoint key, so it proves nothing: name one, checkpointKey");
    this.state = new State(this.folder, this.me, info.did);
    try {
      await this.#rebuild();
      for (const interaction of Object.keys(this.state.tasks)) this.state.touch(interaction);
      await this.started();
      // A failure of the feed itself ends the loop instead of leaving it deaf.
      const feed = follow(this.ledger, randomUUID(), this.state.data.cursor, (news) => this.news(...news), this.#over.signal);
      feed.catch((fault) => this.news("broken", fault));
      this.#beat();
      this.#heart = setInterval(() => this.#beat(), heartbeatEveryMs);
      while (!this.#over.signal.aborted && !until()) await this.#turn();
    } finally {
      clearInterval(this.#heart);
      this.#over.abort();
      this.state.close();
    }
  }

  /** Says that the loop is there. Nothing rests on it: one that is lost is followed by the next. */
  #beat() {
    this.ledger.heartbeat(heartbeatTtlS).catch(() => {});
  }

  /** Ends `run` after what it is doing. What is under way is in the state file. */
  stop() {
    this.#over.abort();
    this.#wake();
  }

  /** Whether nothing is under way, but for proofs that a person was told are missing. */
  isIdle() {
    const { tasks, outbox, proofs: due } = this.state.data;
    return Object.keys(tasks).length === 0 && outbox.length === 0 && due.every((one) => one.is_alarmed);
  }

  /** Tells the loop something; it is taken in its turn. */
  news(...news) {
    this.#news.push(news);
    this.#wake();
  }

  async #turn() {
    if (this.#isConnected) {
      await this.#lookAtAll();
      await this.#sendAll();
      await this.#fetchProofs();
    }
    await this.#acknowledge();
    if (this.#news.length === 0) await this.#patience();
    const news = this.#news.shift();
    if (news === undefined) return;
    const [kind, ...rest] = news;
    if (kind === "page") this.#take(...rest);
    else if (kind === "replaced") throw new Replaced("another loop of this agent reads the feed now");
    else if (kind === "broken") throw rest[0];
    else if (kind === "back" || kind === "lost") {
      this.#isConnected = kind === "back";
      this.tell("feed", null, rest[0] ?? kind);
    } else this.told(...news);
  }

  async #patience() {
    const looks = Object.values(this.state.tasks).map((task) => task.look_at_ms).filter((at) => at !== null);
    const tries = [...this.state.outbox.map((entry) => entry.not_before_ms), ...this.state.data.proofs.map((due) => due.try_at_ms)];
    const next = Math.min(Date.now() + 1_000, ...looks, ...tries);
    const leftMs = Math.max(next - Date.now(), this.#isConnected ? 0 : 500);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, leftMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }

  /** What follows from a page is in the file with the cursor behind it; then it is acknowledged. */
  #take(messages, cursor) {
    for (const message of messages) this.#keep(message);
    this.state.data.cursor = cursor;
    this.state.save();
    Object.assign(this.#ack, { through: cursor, notBeforeMs: 0 });
  }

  #keep({ envelope, is_verified, interaction_id }) {
    const isOfLedger = envelope.from === this.state.data.ledger;
    if (!is_verified && !isOfLedger)
      return this.alarm(interaction_id ?? null, `message ${envelope.id} is signed by no key of its sender: passed over`);
    const talk = this.talks && negotiationOf(envelope);
    if (talk) return this.talks.take(talk, envelope.type);
    const kind = envelope.type.replace(/^x811\//, "");
    const interaction = interaction_id ?? (kind === "request" ? envelope.id : undefined);
    if (interaction === undefined) return this.tell("passed over", null, `${envelope.type} of ${envelope.from}`);
    if (isOfLedger) this.tell("notice", interaction, `${envelope.payload.code} ${envelope.payload.message}`);
    else if (kept.includes(kind)) this.state.task(interaction).envelopes[kind] ??= envelope;
    this.state.touch(interaction);
  }

  /** Behind the state file, and again until the ledger has it. */
  async #acknowledge() {
    const ack = this.#ack;
    if (ack.through === null || Date.now() < ack.notBeforeMs) return;
    try {
      await this.ledger.acknowledge(ack.through);
    } catch (fault) {
      if (fault instanceof Unreachable || fault.status === 429 || fault.status >= 500) {
        ack.failures += 1;
        ack.notBeforeMs = Date.now() + reconnectMs(ack.failures);
        return;
      }
      if (!(fault instanceof Refused)) throw fault;
    }
    Object.assign(ack, { through: null, failures: 0 });
  }

  /** Without a state file: what the ledger has for this agent, from its first message on. */
  async #rebuild() {
    if (this.state.data.is_rebuilt) return;
    let after = null;
    for (;;) {
      const page = await this.ledger.inbox(after, 0);
      for (const message of page.messages) {
        message.is_verified = await this.ledger.isVerified(message.envelope, message.position);
        this.#keep(message);
      }
      if (page.messages.length === 0) break;
      after = page.next;
    }
    this.state.data.cursor = after;
    for (const interaction of Object.keys(this.state.tasks).filter((name) => !(name in this.state.data.talks))) {
      const view = await this.ledger.interaction(interaction);
      this.recall(interaction, view);
      if (overStates.includes(view.state)) delete this.state.tasks[interaction];
    }
    this.state.data.is_rebuilt = true;
    this.state.save();
  }

  async #lookAtAll() {
    for (const [interaction, task] of Object.entries(this.state.tasks)) {
      if (task.look_at_ms === null || task.look_at_ms > Date.now()) continue;
      if (this.state.outbox.some((entry) => entry.interaction === interaction)) {
        task.look_at_ms = null;
        continue;
      }
      try {
        await this.#look(interaction, task);
      } catch (fault) {
        if (fault instanceof Unreachable) {
          task.look_at_ms = Date.now() + 1_000;
          continue;
        }
        // The state file: nothing may be done that it does not have.
        if (fault.syscall !== undefined) throw fault;
        task.look_at_ms = Date.now() + afterLapseMs;
        // Of a callback, or of what another agent sent: the others go on.
        if (!(fault instanceof Refused)) this.alarm(interaction, `stuck, and tried again: ${fault}`);
        // An interaction that was never opened, or a body that was erased.
        else if (fault.status !== 404) this.alarm(interaction, fault.message);
        else if (Object.keys(task.envelopes).length === 0) delete this.state.tasks[interaction];
      }
    }
  }

  async #look(interaction, task) {
    if (interaction in this.state.data.talks) {
      if (this.talks) return this.talks.look(interaction, task);
      // It negotiates no more.
      delete this.state.data.talks[interaction];
      delete this.state.tasks[interaction];
      return;
    }
    const view = await this.ledger.interaction(interaction);
    if (view[this.role] !== this.me) {
      delete this.state.tasks[interaction];
    } else if (overStates.includes(view.state)) {
      const { paid } = await this.ledger.settlement(interaction);
      this.over(interaction, task, paid);
      delete this.state.tasks[interaction];
      this.state.save();
      // A notice that comes later makes a task anew: its end was told.
      if (Object.keys(task.envelopes).length > 0) this.tell("over", interaction, `${view.state}, paid: ${paid}`);
    } else {
      task.look_at_ms = view.deadline_at_ms ? view.deadline_at_ms + afterLapseMs : null;
      await this.move(interaction, task, view);
    }
  }

  async #sendAll() {
    const due = this.state.outbox.filter((entry) => entry.not_before_ms <= Date.now());
    // Whatever is in memory alone is written before anything leaves.
    if (due.length > 0) this.state.save();
    for (const entry of due) {
      await this.#send(entry);
      this.state.save();
    }
  }

  async #send(entry) {
    let [fate, why, answer] = asksFirst(entry, Date.now()) ? await this.#ask(entry) : ["send"];
    if (fate === "send" || (fate === "ask" && !entry.is_doubtful)) {
      try {
        [answer, fate] = [await this.ledger.send(entry.envelope), "delivered"];
      } catch (fault) {
        if (fault instanceof Unreachable) fate = "again";
        else if (fault instanceof Refused) [fate, why] = fateOfRefusal(fault);
        else throw fault;
      }
    }
    if (fate === "again" || fate === "ask") {
      entry.is_doubtful ||= fate === "ask";
      return postpone(entry, Date.now());
    }
    this.state.settle(entry, fate);
    if (fate === "delivered") {
      this.tell("said", entry.interaction, `${entry.act}, position ${answer.position}`);
      this.#expectProof(entry, answer);
      return this.delivered(entry, answer);
    }
    const end = fate === "refused" ? `was refused: ${why}` : "was never accepted, and is too old to be";
    this.alarm(entry.interaction, `the ${entry.act} ${end}`);
    return this.undelivered(entry);
  }

  async #ask(entry) {
    try {
      return ["delivered", "", (await this.ledger.byId(entry.id)).first];
    } catch (fault) {
      if (fault instanceof Unreachable) return ["ask"];
      if (fault instanceof Refused) return [fateOfAbsence(entry, fault), fault.message];
      throw fault;
    }
  }

  // Proofs of what was acknowledged.

  #expectProof({ act, id, interaction, envelope }, answer) {
    if (!proofs.proven.includes(act) || answer.envelope_id !== id) return;
    const { position, record_hash } = answer;
    const [digest, now] = [digestOf(JSON.parse(envelope)), Date.now()];
    this.state.data.proofs.push({
      interaction, act, envelope_id: id, digest, position, record_hash, since_ms: now, try_at_ms: now, is_alarmed: false,
    });
  }

  async #fetchProofs() {
    for (const due of this.state.data.proofs.filter((one) => one.try_at_ms <= Date.now())) {
      try {
        const text = await this.ledger.proof(due.position);
        proofs.check(text, due, this.checkpointKey);
        if (asUuid(due.interaction) === null) throw new proofs.ProofFault("the ledger names no interaction");
        replace(join(this.folder, "proofs", `${due.interaction}-${due.act}.tlog-proof`), text);
        this.state.data.proofs = this.state.data.proofs.filter((one) => one !== due);
      } catch (fault) {
        if (![Unreachable, Refused, proofs.ProofFault].some((kind) => fault instanceof kind)) throw fault;
        due.try_at_ms = Date.now() + proofs.retryMs;
        if (Date.now() - due.since_ms >= proofs.alarmAfterMs && !due.is_alarmed) {
          due.is_alarmed = true;
          this.alarm(due.interaction, `no proof that the acknowledged ${due.act} is record ${due.position} of the log `
            + `(${fault.message}): keep the state file, ask the ledger's operator`);
        }
      }
      this.state.save();
    }
  }

  // What the two sides say, and are told.

  /** Seals a message into the outbox and the file, from where it is sent. */
  say(interaction, act, to, payload, type = `x811/${act}`) {
    this.state.put(interaction, act, this.ledger.keys.seal(to, type, payload));
    this.state.save();
  }

  tell(what, interaction, text) {
    this.#watch(what, interaction, text);
  }

  /** Tells what a person has to look at, once, and keeps it in the file. */
  alarm(interaction, text) {
    if (!this.state.alarm(interaction, text)) return;
    this.state.save();
    this.tell("alarm", interaction, text);
  }

  /** Before the feed is read. */
  async started() {}

  /** The next step in an interaction that is not over. */
  async move() {}

  /** It is over; whether the provider has its money: `yes`, `not_yet`, `no`. */
  over() {}

  /** What the ledger knows of it is all that there is: the state file was lost. */
  recall() {}

  /** News of one's own. */
  told() {}

  /** The ledger has it. */
  delivered() {}

  /** The ledger will not have it. */
  undelivered() {}
}
