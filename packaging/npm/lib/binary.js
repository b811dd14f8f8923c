// The binary `x811` that this package brings, for what needs a wallet's key or a proof verified.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PayLater } from "./paying.js";

/** The largest answer of a command that is read, in bytes. */
const mostBytes = 64 << 20;
/** How long a command may take, in milliseconds. */
const limitMs = 120_000;
/** Codes with which a ledger refuses what it takes a moment later. */
const noRoom = ["X811-9001", "X811-9002"];

/** The command failed. */
export class BinaryFault extends Error {
  constructor(answer, exitCode) {
    const { code, message, what_to_do } = answer.error ?? {};
    super(`${code}: ${message} ${what_to_do ?? ""}`.trim());
    [this.code, this.exitCode, this.answer] = [code, exitCode, answer];
  }
}

/** Where it is: X811_BINARY, else in this package. */
export function binaryPath() {
  const name = process.platform === "win32" ? "x811.exe" : "x811";
  const path = process.env.X811_BINARY ?? fileURLToPath(new URL(`../bin/${name}`, import.meta.url));
  if (!existsSync(path)) throw new Error(`${path} is missing: install the package x811 again, or set X811_BINARY`);
  return path;
}

/** Runs `x811 --json WORDS`, without a shell; its JSON, or BinaryFault. */
export function runBinary(...words) {
  return new Promise((resolve, reject) => {
    execFile(binaryPath(), ["--json", ...words], { maxBuffer: mostBytes, timeout: limitMs }, (fault, out, log) => {
      let answer;
      try {
        answer = JSON.parse(out);
      } catch {
        // The text of `fault` has the words, and the address of an RPC endpoint may hold a key.
        const ended = fault?.killed ? `no answer in ${limitMs / 1_000} s` : `it ended with ${fault?.signal ?? fault?.code ?? 0}`;
        answer = { error: { code: fault?.killed ? "timeout" : "no_json", message: log || ended } };
      }
      if (fault !== null || ["no_json", "timeout"].includes(answer.error?.code)) reject(new BinaryFault(answer, fault?.code));
      else resolve(answer);
    });
  });
}

/** A `pay` for an Initiator: `x811 pay`. It keeps the signed transfer before it is sent, under an EIP-3009
 * nonce of the interaction, so that it pays once however often it is called; it also declares the PAYMENT, so
 * there is nothing to seal. */
export function binaryPayer({ ledger, home, agent, rpc }) {
  return async (due) => {
    const who = ["--ledger", ledger, "--home", home, "--agent", agent];
    try {
      await runBinary(...who, "pay", due.interaction, "--rpc", rpc, "--network", due.network, "--follow", "0");
    } catch (fault) {
      // Nobody answered, or the ledger had no room: the kept transfer is sent again.
      if (fault instanceof BinaryFault && (fault.exitCode === 3 || noRoom.includes(fault.code))) throw new PayLater(fault.message);
      throw fault;
    }
  };
}
