// A provider: it offers by a price of yours, works, delivers, and says when it is paid.
import { budgetOf, feeOf, microUsdc, usdc } from "./caps.js";
import { Loop, paymentLookMs } from "./engine.js";
import { Talks } from "./haggling.js";
import { sha256 } from "./keys.js";
import { plain } from "./plain.js";

/** The work has to end so long before its deadline, in milliseconds, for the RESULT still to arrive. */
const workMarginMs = 10_000;
/** The most characters of an error that are sent to the initiator. */
const mostReason = 500;

/** `quote(request)` gives what a task costs for the payload of a REQUEST, or null to let it lapse.
 * `work(request)` makes the content, at least once for each task and again after a crash; its RESULT is sent
 * once. What it throws is told to the initiator in an ERROR.
 *
 * With `negotiation` it comes to terms about its `sales`, and offers what was agreed on without asking `quote`. */
export class Provider extends Loop {
  #working = new Set();

  constructor({ quote, work, mostAtOnce = 4, negotiation, sales = [], ...options }) {
    super("provider", options);
    this.talks = negotiation ? new Talks(this, negotiation, { sales }) : null;
    [this.quote, this.work, this.mostAtOnce] = [quote, work, mostAtOnce];
  }

  async move(interaction, task, view) {
    const can = (act) => this.state.maySeal(interaction, act);
    const { request } = task.envelopes;
    if (view.state === "pending" && can("offer") && request) {
      // What was agreed on is offered at once, however much there is to do.
      const isAgreed = this.talks !== null && "negotiation_id" in request.payload.parameters;
      if (!isAgreed && this.#takenOn(interaction) >= this.mostAtOnce) task.look_at_ms = Date.now() + paymentLookMs;
      else await this.#offer(interaction, request, isAgreed);
    } else if (view.state === "accepted" && !this.#working.has(interaction) && can("result") && can("error")) {
      if (view.deadline_at_ms - Date.now() <= workMarginMs)
        this.#fail(interaction, view.initiator, "the work cannot be done in the time left");
      // The view may be ahead of the feed; the ACCEPT comes with that.
      else if (task.envelopes.accept) this.#start(interaction, task, request);
    } else if (view.state === "verified") task.look_at_ms = Date.now() + paymentLookMs;
  }

  #takenOn(interaction) {
    const others = Object.entries(this.state.tasks).filter(([name]) => name !== interaction);
    return others.filter(([, { steps }]) => steps.offer && !steps.result && !steps.error).length;
  }

  async #offer(interaction, request, isAgreed) {
    const asked = request.payload;
    const quote = isAgreed ? await this.talks.agreedFor(asked) : await this.quote(asked);
    if (quote === null) return this.tell("no offer", interaction, String(asked.task_type));
    const price = microUsdc(quote.price);
    const total = price + feeOf(price);
    if (total > budgetOf(asked.max_budget) || quote.estimatedTimeS > asked.deadline)
      return this.tell("no offer", interaction, "over its budget or its deadline");
    this.say(interaction, "offer", request.from, {
      request_id: interaction, price: usdc(price), protocol_fee: usdc(feeOf(price)), total_cost: usdc(total),
      currency: "USDC", estimated_time: quote.estimatedTimeS, deliverables: quote.deliverables,
      expiry: quote.expiryS ?? 300, ...(quote.terms && { terms: quote.terms }),
      ...(quote.paymentAddress && { payment_address: quote.paymentAddress }),
    });
  }

  #start(interaction, task, request) {
    task.work_started_ms ??= Date.now();
    this.state.save();
    this.#working.add(interaction);
    this.tell("working", interaction, String(request.payload.task_type));
    const work = async () => this.work(request.payload);
    work().then(
      (product) => this.news("worked", interaction, typeof product === "string" ? { content: product } : product, null),
      (fault) => this.news("worked", interaction, null, String(fault)),
    );
  }

  told(kind, interaction, product, fault) {
    this.#working.delete(interaction);
    const task = this.state.tasks[interaction];
    if (!task || !this.state.maySeal(interaction, "result") || !this.state.maySeal(interaction, "error")) return;
    const { accept, request } = task.envelopes;
    if (fault !== null || !accept) return this.#fail(interaction, request.from, fault ?? "there is no ACCEPT");
    let payload;
    try {
      const { content, contentType = "text/plain", ...more } = product;
      payload = plain({
        ...more, request_id: interaction, offer_id: accept.payload.offer_id, content_type: contentType, content,
        result_hash: sha256(content).toString("hex"), execution_time_ms: Math.max(0, Date.now() - task.work_started_ms),
      });
    } catch (unusable) {
      return this.#fail(interaction, request.from, String(unusable));
    }
    this.say(interaction, "result", request.from, payload);
  }

  undelivered(entry) {
    // Too large, for instance: the initiator need not wait for it.
    if (entry.act === "result") this.#fail(entry.interaction, JSON.parse(entry.envelope).to, "the ledger did not take the RESULT");
  }

  #fail(interaction, initiator, reason) {
    this.alarm(interaction, `the work failed, and the initiator is told: ${reason}`);
    const payload = { code: "X811-4022", message: reason.slice(0, mostReason).toWellFormed(), related_message_id: interaction };
    this.say(interaction, "error", initiator, payload);
  }
}
