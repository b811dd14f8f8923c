// A loop's part in negotiations: offers for its orders, answers to the other party's terms, and the REQUEST once they
// are agreed on (docs/connect.md, section 6). In tasks and outbox a negotiation has the id of its offer.
import { hashOf, mostTurns, nextPrice, priceOf, priceWithin, reply, restOf, withPrice, withoutPrice } from "./bargain.js";
import { feeOf, microUsdc, usdc } from "./caps.js";
import { asUuid, canonical, digestOf } from "./keys.js";
import { Refused } from "./ledger.js";

const kind = "x811.negotiation/";
/** What is said in negotiations, each once to the same terms. */
const acts = ["terms", "agree", "decline"];
/** When a negotiation is looked at after its terms should have lapsed, in milliseconds. */
const afterLapseMs = 10_000;

/** A negotiation as it stands, every message as its author signed it: `open`, `agreed`, `engaged`, `over`. */
class Talk {
  #accepted;

  static async of(ledger, negotiation) {
    const talk = Object.assign(new Talk(), { id: negotiation, standing: "open", turns: [] });
    for (const { position, leaf: { event } } of await ledger.negotiation(negotiation)) {
      if (event.type === "envelope_accepted") talk.#take(await said(ledger, event.envelope, position));
      else if (event.type === "engaged") talk.standing = "engaged";
      else if (event.type === "lapsed" && ["contract", "engagement"].includes(event.window)) talk.standing = "over";
    }
    if (talk.turns.length === 0) throw new TypeError(`negotiation ${negotiation} has no offer`);
    return talk;
  }

  #take({ id, type, from, to, payload }) {
    const verb = type.slice(kind.length);
    // Whoever serves an older one has real signatures, too.
    const named = verb === "offer" ? id : String(payload.negotiation_id).replace(/^neg-/, "");
    if (named !== this.id) throw new TypeError(`message ${id} is of another negotiation`);
    if (verb === "offer") Object.assign(this, { initiator: from, responder: to, maxTurns: payload.max_rounds ?? mostTurns });
    if (verb === "offer" || verb === "counter") {
      this.turns.push({ author: from, step: id, terms: payload.terms });
      if (payload.expires_at !== undefined) this.expiresAtMs = Date.parse(payload.expires_at);
    } else if (verb === "accept") [this.standing, this.#accepted] = ["agreed", [payload.step_id, payload.terms_hash]];
    else if (verb === "reject" || verb === "withdraw") this.standing = "over";
  }

  get last() {
    return this.turns.at(-1);
  }

  /** The terms that both parties signed for. */
  agreed() {
    const { step, terms } = this.last;
    return this.#accepted?.[0] === step && this.#accepted[1] === hashOf(terms) ? this.last : null;
  }

  other(me) {
    return this.initiator === me ? this.responder : this.initiator;
  }

  /** Own prices and the other party's, oldest first. */
  prices(me) {
    const priced = this.turns.map(({ author, terms }) => [author === me, priceOf(terms)]).filter(([, price]) => price !== null);
    return [true, false].map((own) => priced.filter(([isOwn]) => isOwn === own).map(([, price]) => price));
  }
}

async function said(ledger, head, position) {
  const { envelope } = await ledger.byId(head.id);
  if (digestOf(envelope) !== head.digest || !(await ledger.isVerified(envelope, position)))
    throw new TypeError(`message ${head.id} is not the one of its record, or signed by no key of its sender`);
  return envelope;
}

/** The negotiation that a message is about. It is only looked at because of it. */
export function negotiationOf({ id, type, payload }) {
  if (type === `${kind}offer`) return asUuid(id);
  const named = String(payload.negotiation_id);
  const isOne = (type.startsWith(kind) || type === "x811/error") && named.startsWith("neg-");
  return isOne ? asUuid(named.slice(4)) : null;
}

/** The negotiations of a loop: those for its orders that name an `opening`, and about its sales. */
export class Talks {
  constructor(loop, negotiation, { orders = [], sales = [] }) {
    [this.loop, this.how] = [loop, negotiation];
    this.orders = new Map(orders.filter((order) => order.opening !== undefined).map((order) => [order.key, order]));
    this.sales = new Map(sales.map((sale) => [sale.taskType, { deliverables: ["the result"], ...sale }]));
    for (const sale of sales) [sale.opening, sale.lowest].map(microUsdc);
  }

  get open() {
    return this.loop.state.data.talks;
  }

  take(negotiation, type) {
    // What an ERROR names is its sender's word alone: it may be an interaction.
    if (type.startsWith(kind)) this.open[negotiation] ??= { order: null, answered: null };
    if (negotiation in this.open) this.loop.state.touch(negotiation);
  }

  /** Offers the first terms for an order. */
  begin(order) {
    const { rest, limits } = this.#wantedBy(order);
    const envelope = this.loop.ledger.keys.seal(order.provider, `${kind}offer`, {
      terms: withPrice(rest, nextPrice([], [], limits, this.how.strategy)),
      expires_at: new Date(Date.now() + 1_000 * this.how.lifeS).toISOString(), max_rounds: this.how.maxTurns,
    });
    this.open[envelope.id] = { order: order.key, answered: null };
    this.loop.state.data.requests[order.key] = envelope.id;
    this.loop.state.put(envelope.id, "terms", envelope);
    this.loop.state.save();
  }

  /** The next move in a negotiation. */
  async look(negotiation, task) {
    let talk;
    try {
      talk = await Talk.of(this.loop.ledger, negotiation);
    } catch (refused) {
      if (!(refused instanceof Refused) || refused.status !== 404) throw refused;
      task.look_at_ms = Date.now() + afterLapseMs;
      if (!Object.values(task.steps).some(({ outcome }) => ["open", "delivered"].includes(outcome))) this.#leave(negotiation);
      return;
    }
    if (talk.standing === "open") {
      task.look_at_ms = Math.max(talk.expiresAtMs, Date.now()) + afterLapseMs;
      if (talk.last.author !== this.loop.me) this.#answer(talk, task);
      return;
    }
    const order = this.orders.get(this.open[negotiation].order);
    const agreed = talk.standing === "agreed" ? talk.agreed() : null;
    if (order && agreed) {
      const price = priceOf(agreed.terms);
      this.loop.tell("agreed", negotiation, `on ${usdc(price + feeOf(price))} USDC`);
    } else if (order) this.loop.tell("over", negotiation, `no terms were agreed on for the order ${order.key}`);
    this.#forget(negotiation);
    // Saved with the REQUEST: no start finds neither of the two.
    if (order && agreed) this.loop.request(order, { negotiation_id: `neg-${negotiation}` });
    else this.loop.state.save();
  }

  #answer(talk, task) {
    const [note, { steps }, { step, terms }] = [this.open[talk.id], task, talk.last];
    if (note.answered !== step) {
      note.answered = step;
      for (const act of acts) delete steps[act];
    }
    if (!acts.every((act) => this.loop.state.maySeal(talk.id, act))) return;
    const wanted = this.#wanted(talk, this.orders.get(note.order));
    if (wanted === null) return this.#leave(talk.id);
    const mayBeCountered = talk.turns.length < Math.min(this.how.maxTurns, talk.maxTurns) && steps.terms?.outcome !== "refused";
    const areAlike = canonical(withoutPrice(terms)) === canonical(wanted.rest) && priceOf(terms) !== null;
    const [own, theirs] = talk.prices(this.loop.me);
    const [answer, price] = reply(own, theirs, wanted.limits, this.how.strategy, areAlike, mayBeCountered);
    const [act, more] = {
      accept: () => ["agree", { terms_hash: hashOf(terms) }],
      counter: () => ["terms", { terms: withPrice(wanted.rest, price) }],
      reject: () => ["decline", {}],
    }[answer]();
    const payload = { negotiation_id: `neg-${talk.id}`, step_id: step, ...more };
    this.loop.say(talk.id, act, talk.other(this.loop.me), payload, kind + answer);
  }

  #wantedBy({ provider, taskType, deadlineS, deliverables = [], maxBudget, opening }) {
    const limits = { isPayer: true, opening: microUsdc(opening), walkAway: priceWithin(microUsdc(maxBudget)), perTurn: this.how.perTurn };
    return { rest: restOf(this.loop.me, provider, taskType, deadlineS, deliverables), limits };
  }

  /** All but the amount as this agent would have it, and how far it goes; null where it is not its business. */
  #wanted(talk, order) {
    const [{ me }, { terms }] = [this.loop, talk.last];
    if (order !== undefined) return talk.other(me) === order.provider ? this.#wantedBy(order) : null;
    const sale = this.sales.get(terms.task_type);
    if (terms.payee !== me || sale === undefined) return null;
    const deliverables = terms.deliverables === undefined ? [] : sale.deliverables;
    const rest = restOf(terms.payer, me, sale.taskType, Math.max(terms.deadline_s ?? 0, sale.timeS), deliverables);
    const [opening, walkAway] = [sale.opening, sale.lowest].map(microUsdc);
    return { rest, limits: { isPayer: false, opening, walkAway, perTurn: this.how.perTurn } };
  }

  /** What a REQUEST under a negotiation is offered; null where this agent signed for no such terms. */
  async agreedFor(request) {
    const negotiation = asUuid(String(request.parameters.negotiation_id).replace(/^neg-/, ""));
    const agreed = negotiation && (await Talk.of(this.loop.ledger, negotiation)).agreed();
    const price = agreed && priceOf(agreed.terms);
    if (price === null || agreed.terms.payee !== this.loop.me) return null;
    const sale = this.sales.get(request.task_type);
    const deliverables = agreed.terms.deliverables ?? sale?.deliverables ?? ["the result"];
    return { price: usdc(price), estimatedTimeS: Math.min(sale?.timeS ?? request.deadline, request.deadline), deliverables };
  }

  #leave(negotiation) {
    this.#forget(negotiation);
    this.loop.state.save();
  }

  /** Forgets a negotiation; the next start begins its order anew, unless a REQUEST was sealed. */
  #forget(negotiation) {
    const { talks, tasks, requests } = this.loop.state.data;
    delete talks[negotiation];
    delete tasks[negotiation];
    for (const key of Object.keys(requests).filter((name) => requests[name] === negotiation)) delete requests[key];
  }
}
