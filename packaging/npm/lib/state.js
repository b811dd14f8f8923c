// The state file of a loop: what must survive a crash, and nothing that the ledger knows better.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dayMs } from "./caps.js";
import { canonical } from "./keys.js";

/** How many envelopes are sealed for one step at most; then a person has to look. */
export const mostSealed = 3;
/** How many alarms are kept; the oldest goes first. */
const mostAlarms = 200;

/** Replaces a file whole, readable by its owner alone. When this returns, the disk has it. */
export function replace(path, text) {
  mkdirSync(dirname(path), { mode: 0o700, recursive: true });
  const file = openSync(`${path}.new`, "w", 0o600);
  writeFileSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  if (process.platform === "win32") return;
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** The file cannot be used: another loop has it, or it is another agent's. */
export class StateFault extends Error {}

function isAlive(process_id) {
  try {
    process.kill(process_id, 0);
    return true;
  } catch (fault) {
    return fault.code === "EPERM";
  }
}

/** Replaced whole by a rename after fsync, readable by its owner alone. While it is open, a file beside it
 * names the process; that of a process that has ended is taken over. */
export class State {
  constructor(folder, did, ledger) {
    [this.path, this.lock] = [join(folder, "state.json"), join(folder, "lock")];
    mkdirSync(folder, { mode: 0o700, recursive: true });
    this.#take();
    try {
      this.data = this.#read(did, ledger);
    } catch (fault) {
      this.close();
      throw fault;
    }
  }

  #take() {
    for (let left = 2; ; left -= 1) {
      try {
        writeFileSync(this.lock, String(process.pid), { flag: "wx", mode: 0o600 });
        return;
      } catch (fault) {
        if (fault.code !== "EEXIST") throw fault;
      }
      const owner = Number(readFileSync(this.lock, "utf8"));
      if (left === 0 || (Number.isInteger(owner) && owner > 0 && owner !== process.pid && isAlive(owner)))
        throw new StateFault(`process ${owner} has ${this.path}: end it first, or remove ${this.lock} where it is no loop`);
      rmSync(this.lock, { force: true });
    }
  }

  #read(did, ledger) {
    let text;
    try {
      text = readFileSync(this.path, "utf8");
    } catch (fault) {
      if (fault.code !== "ENOENT") throw fault;
      const lists = { requests: {}, tasks: {}, talks: {}, outbox: [], commitments: [], proofs: [], alarms: [] };
      return { v: 1, loop: "package", did, ledger, cursor: null, is_rebuilt: false, ...lists };
    }
    const data = JSON.parse(text);
    // That of `x811 agent run` has the same name, and lists of its own.
    const isOfPackage = data.loop === "package" || data.proofs === undefined;
    if (data.v !== 1 || data.did !== did || data.ledger !== ledger || !isOfPackage)
      throw new StateFault(`${this.path} is of another agent, ledger or program: name another folder`);
    return { loop: "package", talks: {}, proofs: [], ...data };
  }

  close() {
    rmSync(this.lock, { force: true });
  }

  /** When this returns, the disk has it. */
  save() {
    replace(this.path, JSON.stringify(this.data));
  }

  get outbox() {
    return this.data.outbox;
  }

  get tasks() {
    return this.data.tasks;
  }

  task(interaction) {
    return (this.tasks[interaction] ??= { look_at_ms: 0, envelopes: {}, steps: {} });
  }

  /** Makes sure that the interaction is looked at soon. */
  touch(interaction) {
    this.task(interaction).look_at_ms = 0;
  }

  /** Whether none is on its way, none was accepted, and not too many were refused. */
  maySeal(interaction, act) {
    const step = this.task(interaction).steps[act];
    return step === undefined || (["refused", "dead"].includes(step.outcome) && step.sealed < mostSealed);
  }

  /** Puts a sealed envelope on its way, in the form that is signed. It is not sent before `save`. */
  put(interaction, act, envelope) {
    const step = (this.task(interaction).steps[act] ??= { sealed: 0 });
    step.sealed += 1;
    step.outcome = "open";
    this.outbox.push({
      interaction, act, id: envelope.id, envelope: canonical(envelope), created_ms: Date.parse(envelope.created),
      tries: 0, not_before_ms: 0, is_doubtful: false,
    });
  }

  /** Takes an envelope out, with what became of it. */
  settle(entry, outcome) {
    this.outbox.splice(this.outbox.indexOf(entry), 1);
    this.task(entry.interaction).steps[entry.act].outcome = outcome;
    this.touch(entry.interaction);
  }

  /** Journals what an ACCEPT commits to, `{interaction, provider, network, total_micro_usdc, at_ms}`, once for
   * each interaction; forgets what is a day old. */
  commit(due) {
    const isKept = (made) => made.interaction !== due.interaction && Date.now() - made.at_ms < dayMs;
    this.data.commitments = [...this.data.commitments.filter(isKept), due];
  }

  /** Nothing is spent in this interaction. */
  release(interaction) {
    this.data.commitments = this.data.commitments.filter((made) => made.interaction !== interaction);
  }

  /** Notes what a person has to look at; whether it is new. */
  alarm(interaction, text) {
    const { alarms } = this.data;
    if (alarms.some((one) => one.interaction === interaction && one.text === text)) return false;
    alarms.push({ at_ms: Date.now(), interaction, text });
    alarms.splice(0, Math.max(0, alarms.length - mostAlarms));
    return true;
  }
}
