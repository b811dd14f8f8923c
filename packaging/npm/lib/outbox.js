// What an answer means for a sealed envelope. Decides, and does nothing.

/** Behind `created` plus this, by the ledger's time, an envelope that is not accepted never will be. */
const deadAfterMs = 330_000;
/** Between one try and the next, in milliseconds, as they follow each other. */
const delaysMs = [500, 1_000, 2_000, 4_000, 8_000];
/** Codes that leave the nonce unspent: the same bytes again. */
const again = ["X811-9001", "X811-9002", "X811-3003"];
/** Codes about this sending alone: an earlier one may have been accepted. */
const ofThisSending = ["X811-2001", "X811-2002"];

/** `again`, `ask` or `refused`, and why. */
export function fateOfRefusal(refused) {
  const { code, status, details, message } = refused;
  if (code === "X811-2001" && details.first?.code) return ["refused", `${details.first.code} it was refused before`];
  if (again.includes(code) || status >= 500) return ["again", message];
  return [ofThisSending.includes(code) ? "ask" : "refused", message];
}

/** Whether the ledger is asked for the id before the bytes are sent again: they may be too old. */
export const asksFirst = (entry, atMs) => entry.is_doubtful || atMs > entry.created_ms + deadAfterMs;

/** `dead` only beyond that age by the ledger's own time, else `ask`. */
export function fateOfAbsence(entry, refused) {
  const asOfMs = refused.details.as_of?.at_ms ?? 0;
  return refused.status === 404 && asOfMs > entry.created_ms + deadAfterMs ? "dead" : "ask";
}

/** Sets the moment of the next try. */
export function postpone(entry, atMs) {
  entry.not_before_ms = atMs + delaysMs[Math.min(entry.tries, delaysMs.length - 1)];
  entry.tries += 1;
}
