// How a loop negotiates: limits, strategies, and what to say to the other party's terms. Decides, and does nothing.
//
// Amounts are prices in micro-USDC, without the fee. Whatever a strategy wishes, the limits hold: nothing
// beyond the walk-away price, no larger step than `perTurn`, no more turns than `maxTurns`.
import { feeOf, microUsdc, usdc } from "./caps.js";
import { canonical, sha256 } from "./keys.js";

/** The most turns where neither the offer nor this agent says fewer. */
export const mostTurns = 20;

/** How a loop negotiates: by how much it yields at most in one turn (a price in USDC), in how many turns, the
 * offer counted, and how long its own offers stand.
 *
 * `strategy` is `fixed_concession`, `perTurn` in every turn; or `tit_for_tat`, `perTurn` once and then as much as
 * the other side came; or a function of both sides' prices, oldest first, own before theirs. */
export class Negotiation {
  constructor({ perTurn, strategy = "fixed_concession", maxTurns = mostTurns, lifeS = 600 }) {
    if (!["fixed_concession", "tit_for_tat"].includes(strategy) && typeof strategy !== "function")
      throw new TypeError(`a strategy is fixed_concession, tit_for_tat or a function: ${strategy}`);
    Object.assign(this, { perTurn: microUsdc(perTurn), strategy, maxTurns, lifeS });
  }
}

const least = (one, other) => (one < other ? one : other);
const most = (one, other) => (one > other ? one : other);

/** Whether a price is at least as good as another, for the side that these limits are of. */
const isAsGood = ({ isPayer }, price, other) => (isPayer ? price <= other : price >= other);

const conceded = ({ isPayer, walkAway }, price, by) => isPayer ? least(price + by, walkAway) : most(price - by, walkAway);

function wished(strategy, own, theirs, limits) {
  if (strategy === "fixed_concession") return limits.perTurn;
  if (strategy !== "tit_for_tat") return most(0n, strategy(own, theirs));
  if (theirs.length < 2) return limits.perTurn;
  const [before, last] = theirs.slice(-2);
  return most(0n, limits.isPayer ? before - last : last - before);
}

/** The price that the side of `limits`, `{isPayer, opening, walkAway, perTurn}`, would name next. */
export function nextPrice(own, theirs, limits, strategy) {
  if (own.length === 0) return conceded(limits, limits.opening, 0n);
  return conceded(limits, own.at(-1), least(wished(strategy, own, theirs, limits), limits.perTurn));
}

/** `["accept"]`, `["counter", price]` or `["reject"]`. `areAlike`: all but the price is as this side would have it,
 * else it is never accepted. It always ends: turns are counted, and where neither moved it counters no more. */
export function reply(own, theirs, limits, strategy, areAlike, mayBeCountered) {
  const following = nextPrice(own, theirs, limits, strategy);
  const are = (than) => areAlike && theirs.length > 0 && isAsGood(limits, theirs.at(-1), than);
  const neitherMoved = own.at(-1) === following && theirs.length > 1 && theirs.at(-2) === theirs.at(-1);
  if (are(following)) return ["accept"];
  if (mayBeCountered && !neitherMoved) return ["counter", following];
  return are(limits.walkAway) ? ["accept"] : ["reject"];
}

/** The highest price whose total, fee included, is at most `total`. */
export function priceWithin(total) {
  const near = (total * 40n) / 41n;
  for (let price = near + 2n; price >= most(near - 2n, 0n); price -= 1n) if (price + feeOf(price) <= total) return price;
  return 0n;
}

// Terms.

/** The price of terms in USDC; null where they have none. */
export function priceOf(terms) {
  if (terms.amount?.currency !== "USDC") return null;
  const value = microUsdc(terms.amount.value);
  return terms.amount_of === "price" ? value : priceWithin(value);
}

export const withoutPrice = ({ amount, amount_of, ...rest }) => rest;

export const withPrice = (rest, price) => ({ ...rest, amount: { value: usdc(price), currency: "USDC" }, amount_of: "price" });

/** Terms but for their amount: everything that is agreed on as it is, or not at all. */
export const restOf = (payer, payee, taskType, deadlineS, deliverables) => ({
  payer, payee, task_type: taskType, deadline_s: deadlineS, ...(deliverables.length > 0 && { deliverables }),
});

export const hashOf = (terms) => sha256(canonical(terms)).toString("hex");
