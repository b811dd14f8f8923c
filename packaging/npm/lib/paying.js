// What a `pay` callback of an Initiator may throw, and when it is called.
import { mostSealed } from "./state.js";

/** Time between two calls for a payment that is declared, in milliseconds. */
export const payMoreMs = 15_000;

/** Nothing is lost, and it may work in a moment: the callback is called again. */
export class PayLater extends Error {}

/** Returns the transactions that the ledger does not count as payment, each with its cause. */
export function refuted(transactions) {
  const found = transactions.filter(({ standing }) => standing.kind === "refuted");
  return Object.fromEntries(found.map(({ tx_hash, standing }) => [tx_hash, standing.cause]));
}

/** Returns true if `pay` is called, where PAYMENTs name these transactions.
 *
 * `step` is the loop's own PAYMENT in the state file. Without one, `pay` declares its PAYMENTs itself: it is called
 * while the ledger sees no transaction that pays. A transaction that the loop declared for it has to be refuted: until
 * then it may still pay, and only its callback could know that it does not. */
export function isPayDue(transactions, step, notBeforeMs, atMs) {
  if (transactions.length > 0 && atMs < notBeforeMs) return false;
  const areAll = (...kinds) => transactions.every(({ standing }) => kinds.includes(standing.kind));
  if (step === undefined) return areAll("unseen", "refuted");
  if (step.sealed >= mostSealed) return false;
  if (["refused", "dead"].includes(step.outcome)) return areAll("unseen", "refuted");
  return step.outcome === "delivered" && transactions.length > 0 && areAll("refuted");
}
