// Amounts, and what an initiator may commit itself to, whatever it is offered.

/** For how long a commitment counts, in milliseconds. */
export const dayMs = 86_400_000;

/** Micro-USDC of a decimal string of USDC with at most six decimals; TypeError for anything else. */
export function microUsdc(text) {
  const parts = typeof text === "string" ? /^(0|[1-9][0-9]{0,12})(?:\.([0-9]{1,6}))?$/.exec(text) : null;
  if (parts === null) throw new TypeError(`not an amount of USDC: ${text}`);
  return BigInt(parts[1]) * 1_000_000n + BigInt((parts[2] ?? "").padEnd(6, "0"));
}

/** The decimal string of an amount, without needless zeros. */
export function usdc(amountMicroUsdc) {
  const decimals = String(amountMicroUsdc % 1_000_000n).padStart(6, "0").replace(/0+$/, "");
  return `${amountMicroUsdc / 1_000_000n}${decimals && `.${decimals}`}`;
}

/** The micro-USDC of a `max_budget`, which is a JSON number: of the decimal that it spells, as the ledger reads it. */
export function budgetOf(number) {
  const [mantissa, exponent] = number.toExponential().split("e");
  const digits = mantissa.replace(".", "");
  // The last digit stands for so many tens of micro-USDC; below one, half is rounded up.
  const place = Number(exponent) - (digits.length - 1) + 6;
  if (place >= 0) return BigInt(digits) * 10n ** BigInt(place);
  const unit = 10n ** BigInt(-place);
  return (BigInt(digits) + unit / 2n) / unit;
}

/** The protocol fee of a price, 2.5 %, rounded half up to micro-USDC. */
export const feeOf = (priceMicroUsdc) => (priceMicroUsdc * 25n + 500n) / 1_000n;

/** The most that an initiator commits itself to, fees included, in USDC: in one interaction, and in any 24
 * hours in all, with one provider, on one network. */
export class Caps {
  constructor({ perInteraction, perDay, perProvider, perNetwork }) {
    [this.perInteraction, this.perDay] = [microUsdc(perInteraction), microUsdc(perDay)];
    [this.perProvider, this.perNetwork] = [perProvider, perNetwork].map((cap) => cap === undefined ? null : microUsdc(cap));
  }

  /** The cap that this commitment would break, in words; null where it breaks none. A commitment is what
   * `State.commit` keeps; one that names no provider or network counts for each. */
  brokenBy(due, journal) {
    const total = BigInt(due.total_micro_usdc);
    if (total > this.perInteraction) return "the cap for one interaction";
    const recent = journal.filter((made) => made.interaction !== due.interaction && due.at_ms - made.at_ms < dayMs);
    const exceeds = (cap, counts) => cap !== null
      && recent.filter(counts).reduce((sum, made) => sum + BigInt(made.total_micro_usdc), total) > cap;
    if (exceeds(this.perDay, () => true)) return "the cap for 24 hours";
    if (exceeds(this.perProvider, (made) => [undefined, due.provider].includes(made.provider)))
      return "the cap for this provider in 24 hours";
    if (exceeds(this.perNetwork, (made) => [undefined, due.network].includes(made.network)))
      return "the cap for this network in 24 hours";
    return null;
  }
}
