// Where messages come from: the stream of a ledger, and its inbox polled while streams fail.
import { setTimeout as pause } from "node:timers/promises";
import { Refused } from "./ledger.js";

/** Delays after failures that follow each other, in seconds. */
const reconnectDelaysS = [1, 2, 4, 8, 16, 30];
/** So many streams in a row have to fail before the inbox is polled. */
const failedStreams = 5;
/** For how long it is polled before a stream is tried again, in milliseconds. */
const pollForMs = 60_000;
/** How long a poll waits for a first message, in milliseconds: at first, and when nothing came for long. */
const [pollFirstMs, pollMostMs] = [2_000, 10_000];

/** The delay after so many failures in a row, from 1, in milliseconds. */
export const reconnectMs = (failures) => 1_000 * reconnectDelaysS[Math.min(failures, reconnectDelaysS.length) - 1];

async function* polled(ledger, instance, after, pollUntil, over) {
  for (let idle = 0; performance.now() < pollUntil; ) {
    const page = await ledger.inbox(after(), Math.min(pollMostMs, pollFirstMs * 2 ** Math.min(idle, 8)), instance, over);
    idle = page.messages.length > 0 ? 0 : idle + 1;
    yield page;
  }
}

/** Puts `["back"]`, `["page", messages, next]`, `["lost", why]`, `["replaced"]` until `over` is aborted. Each
 * message has `is_verified`. */
export async function follow(ledger, instance, begin, put, over) {
  let [after, failures, streamsFailed, pollUntil] = [begin, 0, 0, 0];
  while (!over.aborted) {
    const isPolling = performance.now() < pollUntil;
    const pages = isPolling ? polled(ledger, instance, () => after, pollUntil, over) : ledger.stream(after, instance, over);
    try {
      let isBack = false;
      for await (const page of pages) {
        for (const message of page.messages)
          message.is_verified = await ledger.isVerified(message.envelope, message.position);
        failures = 0;
        if (!isPolling) streamsFailed = 0;
        if (!isBack) put(["back"]);
        isBack = true;
        if (page.next === null || page.next === undefined || page.next === after) continue;
        after = page.next;
        put(["page", page.messages, after]);
      }
    } catch (lost) {
      if (over.aborted) return;
      if (lost instanceof Refused && lost.status === 409 && lost.code !== "X811-2001") return put(["replaced"]);
      const hasNone = lost instanceof Refused && lost.code === "X811-9001";
      failures += 1;
      streamsFailed += isPolling ? 0 : 1;
      put(["lost", String(lost.message)]);
      if (streamsFailed >= failedStreams || hasNone) [pollUntil, streamsFailed] = [performance.now() + pollForMs, 0];
      // Aborted: the loop ends at once.
      if (!hasNone) await pause(reconnectMs(failures), undefined, { signal: over }).catch(() => {});
    }
  }
}
