// x811 for Node: the command `x811` of this package, and loops that provide and buy unattended.
//
// `Provider` and `Initiator` follow docs/connect.md of the ledger. What must not happen twice is in their
// state file before it happens, so a loop that was killed is started again with the same words.
export { Negotiation } from "./bargain.js";
export { BinaryFault, binaryPath, binaryPayer, runBinary } from "./binary.js";
export { Caps, microUsdc, usdc } from "./caps.js";
export { Replaced } from "./engine.js";
export { Initiator } from "./initiator.js";
export { Keys, canonical, verify } from "./keys.js";
export { Ledger, Refused, Unreachable } from "./ledger.js";
export { PayLater } from "./paying.js";
export { Provider } from "./provider.js";
export { StateFault } from "./state.js";
