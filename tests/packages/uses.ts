// A program in TypeScript against the types of the package: it is compiled, not run.
import { Caps, Initiator, Keys, Ledger, Negotiation, PayLater, Provider, binaryPayer, usdc } from "x811";
import type { Due, Paid } from "x811";

const ledger = new Ledger("http://127.0.0.1:8811", Keys.ofHome(".x811", "ada"));
const watch = (what: string, interaction: string | null, text: string): void => void [what, interaction, text];
const provider = new Provider({
  ledger, folder: "bert", watch, work: (request) => ({ content: String(request.parameters.text) }),
  quote: () => ({ price: "0.01", estimatedTimeS: 5, deliverables: ["the text"] }),
  negotiation: new Negotiation({ perTurn: "0.003", strategy: (own, theirs) => BigInt(own.length + theirs.length) }),
  sales: [{ taskType: "upper", opening: "0.029", lowest: "0.022", timeS: 5, deliverables: ["the text"] }],
});
async function pay(due: Due): Promise<Paid> {
  if (due.mayHaveBeenPaid) throw new PayLater(usdc(due.totalMicroUsdc));
  return { txHash: "0x", payer: due.payee };
}
const caps = new Caps({ perInteraction: "0.05", perDay: "1" });
const order = { key: "1", provider: provider.constructor.name, taskType: "upper", maxBudget: "0.2", deadlineS: 60 };
const orders = [order, { ...order, policy: "threshold" as const, threshold: "0.01" }, { ...order, opening: "0.02" }];
const negotiation = new Negotiation({ perTurn: "0.003", strategy: "tit_for_tat", maxTurns: 6, lifeS: 60 });
for (const one of [pay, binaryPayer({ ledger: ledger.url, home: ".x811", agent: "ada", rpc: "http://127.0.0.1:8545" })]) {
  const initiator = new Initiator({ ledger, folder: "ada", caps, pay: one, decide: () => true, orders, negotiation });
  await initiator.run(() => initiator.isIdle());
}
// @ts-expect-error: it does not start without caps
new Initiator({ ledger, folder: "ada", pay, decide: () => true });
