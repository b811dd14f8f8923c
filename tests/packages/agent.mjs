// A provider or an initiator made of the npm package `x811`: as agent.py, word for word.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Caps, Initiator, Keys, Ledger, Negotiation, Provider, binaryPayer } from "x811";

const [role, folder, settings] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];

// As a power cut would, once.
function crash(step, moment) {
  const flag = join(folder, "crashed");
  if (settings.crash?.join() !== [step, moment].join() || existsSync(flag)) return;
  writeFileSync(flag, "");
  process.kill(process.pid, "SIGKILL");
}

// Writes down what it sends before it does.
class Watched extends Ledger {
  async send(envelope) {
    const step = JSON.parse(envelope).type.replace(/^x811[/.]/, "");
    crash(step, "before");
    appendFileSync(join(folder, "sent"), `${envelope}\n`);
    const answer = await super.send(envelope);
    crash(step, "after");
    return answer;
  }
}

const watch = (what, interaction, text) => console.log(JSON.stringify({ what, interaction, text }));

// Pays from an account of the node; what it sent is kept, so that it sends once, and again where that reverted.
async function ownPayer(due) {
  const kept = join(folder, `transfer-${due.interaction}`);
  const isReverted = existsSync(kept) && due.refuted[readFileSync(kept, "utf8")] === "reverted";
  if (isReverted || !existsSync(kept)) {
    if (due.mayHaveBeenPaid && !isReverted) throw new Error("broken off in between");
    const { networks: [{ token }] } = await ledger.info();
    const data = `0xa9059cbb${due.payee.slice(2).toLowerCase().padStart(64, "0")}${due.totalMicroUsdc.toString(16).padStart(64, "0")}`;
    const call = { from: settings.payer, to: token, data, ...(!isReverted && settings.first_gas && { gas: settings.first_gas }) };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendTransaction", params: [call] });
    const answer = await fetch(settings.rpc, { method: "POST", headers: { "content-type": "application/json" }, body });
    writeFileSync(kept, (await answer.json()).result);
  }
  watch("called", due.interaction, "pay");
  return { txHash: readFileSync(kept, "utf8"), payer: settings.payer };
}

function paying() {
  if (settings.payer !== "binary") return ownPayer;
  const pay = binaryPayer(settings);
  return async (due) => {
    crash("pay", "before");
    await pay(due);
    crash("pay", "after");
    watch("called", due.interaction, "pay");
  };
}

// What is easily signed in another form than it is sent in: every REQUEST has it, and the ledger verifies it.
const hard = { when: new Date(0), absent: undefined, numbers: [-0, 1e-7, 2 ** 53 - 1], "\u{1f600}": "\ufb33\u0001" };

mkdirSync(folder, { recursive: true });
const ledger = new Watched(settings.ledger, Keys.ofHome(settings.home, settings.agent));
const how = settings.negotiation;
const negotiation = how && new Negotiation({ perTurn: how.per_turn, strategy: how.strategy, maxTurns: how.max_turns });
const sales = (settings.sales ?? []).map(({ task_type: taskType, time_s: timeS, ...sale }) => ({ taskType, timeS, ...sale }));
const upper = (request) => request.parameters.text.toUpperCase();
const loop = role === "provider"
  ? new Provider({
    ledger, folder, watch, negotiation, sales, work: (request) => upper(request).repeat(request.parameters.times ?? 1),
    quote: (request) => ({ price: request.parameters.price ?? "0.01", estimatedTimeS: 5, deliverables: ["the text in capitals"] }),
  })
  : new Initiator({
    ledger, folder, watch, negotiation, pay: paying(), decide: () => true,
    judge: (request, result) => result.content === upper(request) || "other text",
    caps: settings.caps && new Caps({ perInteraction: settings.caps.per_interaction, perDay: settings.caps.per_day }),
    orders: settings.orders.map((order) => ({
      key: order.key, provider: order.provider, taskType: order.task_type, maxBudget: order.max_budget,
      deadlineS: order.deadline_s, parameters: { ...order.parameters, ...hard }, policy: order.policy, threshold: order.threshold,
      opening: order.opening, deliverables: order.deliverables,
    })),
  });
process.on("SIGTERM", () => loop.stop());
await loop.run(role === "provider" ? undefined : () => loop.isIdle());
