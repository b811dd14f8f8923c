// An initiator: it sends orders, accepts offers within caps, judges results and has them paid.
import { Approvals, answerLookMs, marginMs } from "./approvals.js";
import { hashOf } from "./bargain.js";
import { Caps, budgetOf, feeOf, microUsdc, usdc } from "./caps.js";
import { Loop, paymentLookMs } from "./engine.js";
import { Talks } from "./haggling.js";
import { sha256 } from "./keys.js";
import { PayLater, isPayDue, payMoreMs, refuted } from "./paying.js";
import { plain } from "./plain.js";

/** No transfer begins with less than this left to declare it in, in milliseconds. */
const leastWindowMs = 20_000;
/** When a decision that was put off is asked for again, in milliseconds. */
const askAgainMs = 1_000;
/** When a payment that may work later is tried again, in milliseconds. */
const payAgainMs = 2_000;

const policies = ["auto", "human_approval", "threshold"];

/** Every RESULT with its content inline is good: its hash was checked. */
const goodIfInline = (request, result) => ("content" in result ? true : null);

/** `decide(request, offer)` says true to accept an OFFER (payloads), a text to reject it for that reason, null
 * to be asked again in a second. `judge(request, result)` says true, a text to dispute, null to be asked again.
 * `pay(due)` pays and gives `{txHash, payer, authorizationNonce?}`, or nothing where it declared the PAYMENT
 * itself, as `binaryPayer` does; it throws PayLater to be called again. One that declares the PAYMENT itself is
 * also called again while the ledger sees no transaction that pays: fees may have to be raised, or another account
 * may have sent the authorization. One that gives a transaction is called again where the ledger refutes it:
 * `due.refuted` says why. The transaction that it had given then changes nothing; another one is declared.
 *
 * An OFFER of a provider whose score of trust is below `leastTrust` hundredths is rejected, without asking
 * `decide`. Where the policy of an order asks a person, their answer stands in place of `decide`; it does not lift
 * the caps. It does not start without caps: nothing else bounds what an offer may cost. */
export class Initiator extends Loop {
  constructor({ caps, pay, decide, judge = goodIfInline, orders = [], network, leastTrust = 0, negotiation, ...options }) {
    if (!(caps instanceof Caps))
      throw new TypeError("an initiator does not start without caps: new Caps({ perInteraction, perDay })");
    if (!negotiation && orders.some((order) => order.opening !== undefined))
      throw new TypeError("an order with an opening price is negotiated: say how, new Negotiation({ perTurn })");
    plain(orders, "orders");
    for (const { policy = "auto", maxBudget, threshold = "0", opening = "0" } of orders) {
      if (!policies.includes(policy)) throw new TypeError(`a policy is ${policies.join(", ")}: ${policy}`);
      [maxBudget, threshold, opening].map(microUsdc);
    }
    super("initiator", options);
    this.talks = negotiation ? new Talks(this, negotiation, { orders }) : null;
    this.approvals = new Approvals(options.folder);
    Object.assign(this, { caps, pay, decide, judge, orders, network, leastTrust });
  }

  async started() {
    const networks = (await this.ledger.info()).networks.map((one) => one.name);
    this.network ??= networks.length === 1 ? networks[0] : undefined;
    if (!networks.includes(this.network)) throw new TypeError(`name one of the ledger's networks: ${networks.join(", ")}`);
    for (const order of this.orders) {
      if (order.key in this.state.data.requests) continue;
      if (order.opening === undefined) this.request(order);
      else this.talks.begin(order);
    }
  }

  /** Seals the REQUEST of an order, with more parameters. */
  request(order, more = {}) {
    const envelope = this.ledger.keys.seal(order.provider, "x811/request", {
      task_type: order.taskType, parameters: { ...order.parameters, ...more }, currency: "USDC",
      max_budget: Number(microUsdc(order.maxBudget)) / 1_000_000, deadline: order.deadlineS, acceptance_policy: order.policy ?? "auto",
      ...(order.threshold !== undefined && { threshold_amount: Number(microUsdc(order.threshold)) / 1_000_000 }),
      ledger: this.state.data.ledger,
      // The ledger opens one interaction for it, even where the state file was lost.
      idempotency_key: sha256(`x811 order ${this.me} ${order.key}`).toString("hex"),
    });
    this.state.data.requests[order.key] = envelope.id;
    this.state.task(envelope.id).envelopes.request = envelope;
    this.state.put(envelope.id, "request", envelope);
    this.state.save();
  }

  delivered(entry, answer) {
    if (["accept", "reject"].includes(entry.act)) this.approvals.forget(entry.interaction);
    const opened = answer.interaction_id ?? entry.interaction;
    if (entry.act !== "request" || opened === entry.interaction) return;
    // An equal REQUEST had been accepted before.
    this.#rename(entry.interaction, opened);
    this.state.touch(opened);
  }

  /** A REQUEST that opened nothing: the next start sends its order again. */
  undelivered(entry) {
    if (entry.act === "request") this.#rename(entry.interaction, null);
  }

  #rename(interaction, opened) {
    delete this.state.tasks[interaction];
    const { requests } = this.state.data;
    for (const key of Object.keys(requests).filter((name) => requests[name] === interaction)) {
      if (opened === null) delete requests[key];
      else requests[key] = opened;
    }
  }

  /** An ACCEPT that the file does not know any more still counts against the caps. */
  recall(interaction, view) {
    const { offer } = this.state.task(interaction).envelopes;
    if (!offer || view.initiator !== this.me || !["accepted", "delivered", "verified", "completed"].includes(view.state)) return;
    this.state.commit(this.#commitment(interaction, offer, view.opened_at_ms));
    // Nothing says that it was not.
    if (view.state === "verified") this.state.task(interaction).pay_begun = true;
  }

  #commitment(interaction, offer, atMs) {
    const total = String(microUsdc(offer.payload.total_cost));
    return { interaction, provider: offer.from, network: this.network, total_micro_usdc: total, at_ms: atMs };
  }

  over(interaction, task, paid) {
    this.approvals.forget(interaction);
    if (paid === "no" && !task.pay_begun) this.state.release(interaction);
  }

  async move(interaction, task, view) {
    const can = (act) => this.state.maySeal(interaction, act);
    const { offer, result } = task.envelopes;
    if (offer && (offer.from !== view.provider || offer.payload.request_id !== interaction))
      return this.alarm(interaction, "the OFFER is of somebody else, or for another REQUEST");
    if (view.state === "offered" && offer && can("accept") && can("reject")) await this.#answer(interaction, task, view, offer);
    else if (view.state === "delivered" && result && can("verify")) await this.#verify(interaction, task, result);
    else if (view.state === "verified") {
      task.look_at_ms = Date.now() + paymentLookMs;
      const { transactions } = await this.ledger.settlement(interaction);
      if (!isPayDue(transactions, task.steps.payment, task.pay_more_at_ms ?? 0, Date.now())) return;
      task.pay_more_at_ms = Date.now() + payMoreMs;
      await this.#pay(interaction, task, view, transactions);
    }
  }

  /** The payload of this agent's own REQUEST. */
  async #asked(interaction, task) {
    task.envelopes.request ??= (await this.ledger.byId(interaction)).envelope;
    return task.envelopes.request.payload;
  }

  async #answer(interaction, task, view, offer) {
    const [asked, offered] = [await this.#asked(interaction, task), offer.payload];
    let verdict = await this.#verdict(interaction, task, view, asked, offer);
    if (verdict === null || verdict === undefined) return;
    const due = this.#commitment(interaction, offer, Date.now());
    const cap = this.caps.brokenBy(due, this.state.data.commitments);
    if (verdict === true && cap !== null) verdict = { code: "POLICY_REJECTED", reason: `it would exceed ${cap}` };
    if (verdict === true) {
      // Journal and sealed ACCEPT are written at once, before it leaves.
      this.state.commit(due);
      this.say(interaction, "accept", offer.from, { offer_id: offer.id, offer_hash: hashOf(offered) });
      return;
    }
    const refusal = verdict.code ? verdict : { code: "OTHER", reason: String(verdict) };
    this.say(interaction, "reject", offer.from, { offer_id: offer.id, ...refusal });
  }

  /** True, a reason to reject, or null to be asked again: by the policy of the REQUEST (AE-109 to AE-117). */
  async #verdict(interaction, task, view, asked, offer) {
    const [offered, policy] = [offer.payload, asked.acceptance_policy];
    const total = microUsdc(offered.total_cost);
    const [threshold, budget] = [budgetOf(asked.threshold_amount ?? 0), budgetOf(asked.max_budget)];
    const never = await this.#never(offered, total, offer.from);
    if (policy === "human_approval" || (policy === "threshold" && threshold < total && total <= budget))
      return never ?? this.#person(interaction, task, view, asked, offer, total);
    const fault = never ?? (await this.#fault(asked, offered, total, offer.from));
    const verdict = fault ?? (await this.decide(asked, offered));
    if (verdict === null || verdict === undefined) task.look_at_ms = Date.now() + askAgainMs;
    return verdict;
  }

  /** What a person decided about this OFFER at this total. Without an answer in time it lapses. */
  #person(interaction, task, view, asked, offer, total) {
    const offered = offer.payload;
    const about = { offer_hash: hashOf(offered), total: String(total) };
    const decision = this.approvals.decision(interaction, about.offer_hash, total);
    if (decision !== null)
      return decision.answer === "approve" || { code: "OTHER", reason: decision.reason ?? "a person decided so" };
    const answerByMs = view.deadline_at_ms - marginMs;
    if (Date.now() >= answerByMs) return null;
    const isAsked = task.asked?.offer_hash === about.offer_hash && task.asked.total === about.total;
    if (!isAsked || this.approvals.read(interaction) === null) {
      this.approvals.ask({
        interaction, provider: offer.from, task_type: asked.task_type, price: String(microUsdc(offered.price)),
        max_budget: String(budgetOf(asked.max_budget)), estimated_time_s: offered.estimated_time,
        deliverables: offered.deliverables, asked_at_ms: Date.now(), answer_by_ms: answerByMs, ...about,
        ...(offered.terms !== undefined && { terms: offered.terms }),
      });
      task.asked = about;
      this.tell("asked", interaction, `${usdc(total)} USDC: x811 approvals show ${interaction}`);
    }
    task.look_at_ms = Date.now() + answerLookMs;
    return null;
  }

  /** What nobody's approval lifts. */
  async #never(offered, total, provider) {
    const price = microUsdc(offered.price);
    if (total !== price + feeOf(price)) return { code: "PRICE_TOO_HIGH", reason: `${usdc(total)} USDC is not price and fee` };
    if ((await this.ledger.agent(provider)).status !== "active")
      return { code: "POLICY_REJECTED", reason: "the provider is not active" };
    return null;
  }

  async #fault(asked, offered, total, provider) {
    if (total > budgetOf(asked.max_budget)) return { code: "PRICE_TOO_HIGH", reason: `${usdc(total)} USDC is over the budget` };
    if (offered.estimated_time > asked.deadline)
      return { code: "DEADLINE_TOO_SHORT", reason: "it takes longer than was asked for" };
    if (this.leastTrust > 0 && (await this.ledger.trust(provider)).score_hundredths < this.leastTrust)
      return { code: "TRUST_TOO_LOW", reason: "the provider is trusted less than this agent asks for" };
    return null;
  }

  async #verify(interaction, task, result) {
    const { content, result_hash, offer_id } = result.payload;
    const isOther = content !== undefined && sha256(content).toString("hex") !== result_hash;
    const verdict = isOther
      ? "the content does not have the hash that the RESULT names"
      : await this.judge(await this.#asked(interaction, task), result.payload);
    if (verdict === null || verdict === undefined) {
      task.look_at_ms = Date.now() + askAgainMs;
      return;
    }
    const dispute = verdict === true ? {} : { dispute_code: "WRONG_RESULT", dispute_reason: String(verdict) };
    const payload = { request_id: interaction, offer_id, result_hash, verified: verdict === true, ...dispute };
    this.say(interaction, "verify", result.from, payload);
  }

  /** One transfer at a time: another would be signed with the same account nonce. */
  async #pay(interaction, task, view, transactions) {
    const { offer } = task.envelopes;
    const mayHaveBeenPaid = (task.pay_begun ?? false) || transactions.length > 0;
    if (!mayHaveBeenPaid && view.deadline_at_ms - Date.now() < leastWindowMs)
      return this.alarm(interaction, "nothing was paid: less than 20 s of the payment window were left");
    const total = microUsdc(offer.payload.total_cost);
    const { commitments } = this.state.data;
    if (!commitments.some((made) => made.interaction === interaction && made.total_micro_usdc === String(total)))
      return this.alarm(interaction, "nothing was paid: no ACCEPT of this loop committed to it");
    const payee = offer.payload.payment_address ?? view.detail.offer.payee;
    task.pay_begun = true;
    this.state.save();
    const lost = refuted(transactions);
    for (const [txHash, cause] of task.steps.payment ? Object.entries(lost) : [])
      this.alarm(interaction, `the ledger does not count transaction ${txHash} as payment (${cause}): pay is called again, `
        + "and told so in due.refuted");
    let paid;
    try {
      paid = await this.pay({
        interaction, offerId: offer.id, offerHash: hashOf(offer.payload), provider: offer.from, payee,
        totalMicroUsdc: total, network: this.network, ledger: this.state.data.ledger, mayHaveBeenPaid, refuted: lost,
      });
    } catch (fault) {
      if (fault instanceof PayLater) {
        task.look_at_ms = task.pay_more_at_ms = Date.now() + payAgainMs;
        return this.tell("pay later", interaction, fault.message);
      }
      // Figures in the text of one fault change with the fees and the balance: its code is alarmed once.
      const kind = String(fault.code ?? fault.message);
      if (task.pay_fault === kind) return this.tell("pay later", interaction, fault.message);
      task.pay_fault = kind;
      return this.alarm(interaction, `paying failed, and is tried again: ${fault.message}`);
    }
    if (!paid || transactions.some((one) => one.tx_hash === paid.txHash.toLowerCase())) return;
    this.say(interaction, "payment", offer.from, {
      request_id: interaction, offer_id: offer.id, tx_hash: paid.txHash, amount: usdc(total), currency: "USDC",
      network: this.network, payer_address: paid.payer, payee_address: payee,
      ...(paid.authorizationNonce && { authorization_nonce: paid.authorizationNonce }),
    });
  }
}
