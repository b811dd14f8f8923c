// Questions to a person, one file each: `approvals/<interaction>.json` in the folder of the loop, written and read as
// `x811 approvals` does. A decision names the OFFER and the total it was made about; about another OFFER it says
// nothing, and the person is asked anew.
import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { asUuid } from "./keys.js";
import { replace } from "./state.js";

/** What the time left is shortened by, so that the ACCEPT still arrives, in milliseconds. */
export const marginMs = 5_000;
/** How often a file is read, in milliseconds. */
export const answerLookMs = 1_000;
const mostBytes = 64 << 10;

/** The folder of questions. Whoever can write there decides. */
export class Approvals {
  constructor(folder) {
    this.folder = join(folder, "approvals");
  }

  path(interaction) {
    if (asUuid(interaction) === null) throw new TypeError(`not the id of an interaction: ${interaction}`);
    return join(this.folder, `${interaction}.json`);
  }

  /** The question with its decision; null where there is none, or the file holds something else. */
  read(interaction) {
    const path = this.path(interaction);
    let file;
    try {
      file = openSync(path, "r");
    } catch (fault) {
      if (fault.code === "ENOENT") return null;
      throw fault;
    }
    const text = Buffer.alloc(mostBytes);
    let length;
    try {
      const { mode } = fstatSync(file);
      if (process.platform !== "win32" && (mode & 0o077) !== 0)
        throw new TypeError(`${path} has mode ${(mode & 0o777).toString(8)}, so others may decide: run \`chmod 600\` on it`);
      length = readSync(file, text);
    } finally {
      closeSync(file);
    }
    try {
      return JSON.parse(text.toString("utf8", 0, length));
    } catch {
      return null;
    }
  }

  ask(question) {
    replace(this.path(question.interaction), JSON.stringify(question, null, 2));
  }

  /** What a person decided about exactly this OFFER and total, in time; null where they did not. */
  decision(interaction, offerHash, totalMicroUsdc) {
    const question = this.read(interaction);
    const decision = question?.decision;
    if (!["approve", "reject"].includes(decision?.answer)) return null;
    const times = [decision.at_ms, question.answer_by_ms];
    if (!times.every(Number.isSafeInteger) || times[0] >= times[1]) return null;
    return decision.offer_hash === offerHash && String(decision.total) === String(totalMicroUsdc) ? decision : null;
  }

  forget(interaction) {
    rmSync(this.path(interaction), { force: true });
  }
}
