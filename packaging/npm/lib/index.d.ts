/** A JSON object, such as the payload of a message. */
export type Members = Record<string, any>;

export class Keys {
  constructor(did: string, seed: Uint8Array, profile?: "digest" | "direct");
  /** Those of an agent that `x811 agent new NAME` made in that directory (mode 0600). */
  static ofHome(home: string, name: string): Keys;
  readonly did: string;
  readonly profile: string;
  /** In multibase. */
  readonly public: string;
  /** A signed envelope, with a new id and nonce, and the payload as JSON.stringify writes it. Throws a TypeError that
   * names the member, `parameters.items[2].when`, where JSON cannot represent one. Sealing sends nothing. */
  seal(to: string, type: string, payload: Members): Members;
}

/** The RFC 8785 form of a JSON value. */
export function canonical(value: unknown): string;
/** Whether one of these keys signed the envelope. */
export function verify(envelope: Members, keys: { key: string; profile: string }[]): boolean;

/** No answer, or one that is not the ledger's: try again. */
export class Unreachable extends Error {}
/** The ledger said no. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Members;
}

/** One ledger as one agent uses it (docs/connect.md). It is reached through the proxy that HTTP_PROXY, HTTPS_PROXY or
 * ALL_PROXY name when it is made, unless it is on this machine or NO_PROXY names it. */
export class Ledger {
  constructor(url: string, keys: Keys);
  readonly url: string;
  readonly keys: Keys;
  info(): Promise<Members>;
  /** Sends an envelope, byte for byte; its answer, also when it was taken before. */
  send(envelope: string): Promise<Members>;
  byId(envelopeId: string): Promise<Members>;
  interaction(interaction: string): Promise<Members>;
  settlement(interaction: string): Promise<Members>;
  agent(did: string): Promise<Members>;
  trust(did: string): Promise<Members>;
  inbox(after: string | null, waitMs: number, instance?: string): Promise<Members>;
  acknowledge(through: string): Promise<void>;
  /** The records of a negotiation, by the UUID in its id. */
  negotiation(id: string): Promise<Members[]>;
  /** The proof file of a record; not checked. */
  proof(position: number): Promise<string>;
}

/** Micro-USDC of a decimal string of USDC with at most six decimals. */
export function microUsdc(text: string): bigint;
/** The decimal string of an amount. */
export function usdc(amountMicroUsdc: bigint): string;

/** The most that an initiator commits itself to, fees included, in USDC: in one interaction, and in any 24
 * hours in all, with one provider, on one network. */
export class Caps {
  constructor(most: { perInteraction: string; perDay: string; perProvider?: string; perNetwork?: string });
  readonly perInteraction: bigint;
  readonly perDay: bigint;
  readonly perProvider: bigint | null;
  readonly perNetwork: bigint | null;
}

export interface LoopOptions {
  ledger: Ledger;
  /** Of this loop alone: state file and lock. */
  folder: string;
  /** Told what happens: `feed`, `working`, `said`, `over`, `notice`, `alarm` and the like. */
  watch?: (what: string, interaction: string | null, text: string) => void;
  /** Proofs are held against it; without it against the key that the ledger names at the start. */
  checkpointKey?: string;
}

/** Both sides' prices in micro-USDC, oldest first: how much to yield. */
export type Strategy = (own: bigint[], theirs: bigint[]) => bigint;

/** How a loop negotiates; prices in USDC, without the fee. */
export class Negotiation {
  constructor(how: {
    /** The most it yields in one turn. */
    perTurn: string;
    /** `fixed_concession` without it. */
    strategy?: "fixed_concession" | "tit_for_tat" | Strategy;
    /** The offer counted; 20 without it. */
    maxTurns?: number;
    /** How long its offers stand; 600 without it. */
    lifeS?: number;
  });
}

/** Work that is sold by negotiation; prices in USDC, without the fee. */
export interface Sale {
  taskType: string;
  /** The first price asked. */
  opening: string;
  /** The lowest that is taken. */
  lowest: string;
  /** Terms with less time are countered. */
  timeS: number;
  /** One, `the result`, where nothing is said. */
  deliverables?: string[];
}

declare class Loop {
  /** Acts until `stop` is called or `until()` is true. Rejects with Replaced where another loop took over. */
  run(until?: () => boolean): Promise<void>;
  /** Ends `run` after what it is doing. What is under way is in the state file. */
  stop(): void;
  /** Whether nothing is under way; while it runs. */
  isIdle(): boolean;
}

/** A newer loop of the same agent reads the feed. */
export class Replaced extends Error {}
/** The state file cannot be used: another loop has it, or it is another agent's. */
export class StateFault extends Error {}

/** What a task costs; the price in USDC, without the fee. */
export interface Quote {
  price: string;
  estimatedTimeS: number;
  deliverables: string[];
  /** 300 without it. */
  expiryS?: number;
  terms?: string;
  /** The account to be paid; the registered wallet without it. */
  paymentAddress?: string;
}

/** What was made. */
export interface Product {
  content: string;
  /** `text/plain` without it. */
  contentType?: string;
  model_used?: string;
  methodology?: string;
}

type Soon<T> = T | Promise<T>;

export class Provider extends Loop {
  constructor(options: LoopOptions & {
    /** For the payload of a REQUEST; null lets it lapse. */
    quote: (request: Members) => Soon<Quote | null>;
    /** Runs at least once for each task, again after a crash; its RESULT is sent once. */
    work: (request: Members) => Soon<string | Product>;
    /** How many interactions it takes on at once; 4 without it. */
    mostAtOnce?: number;
    /** With it, it comes to terms about its sales. */
    negotiation?: Negotiation;
    sales?: Sale[];
  });
}

/** A REQUEST that is sent once, whatever happens: `key` names it for ever in this loop's folder. */
export interface Order {
  key: string;
  provider: string;
  taskType: string;
  /** USDC, fee included. */
  maxBudget: string;
  deadlineS: number;
  parameters?: Members;
  /** `auto` without it; `threshold` asks a person above `threshold`. */
  policy?: "auto" | "human_approval" | "threshold";
  /** USDC, fee included. */
  threshold?: string;
  /** A price: with it, terms are negotiated first. */
  opening?: string;
  /** What is agreed on in a negotiation. */
  deliverables?: string[];
}

/** What is to be paid. It was accepted within the caps, and its RESULT found good. */
export interface Due {
  interaction: string;
  offerId: string;
  /** SHA-256 of the OFFER's payload, in hex: part of the EIP-3009 nonce. */
  offerHash: string;
  provider: string;
  payee: string;
  totalMicroUsdc: bigint;
  network: string;
  ledger: string;
  /** It may have been called before for this interaction: pay only if it did not, or its transfer reverted. */
  mayHaveBeenPaid: boolean;
  /** Transactions of PAYMENTs that the ledger does not count, with its cause: `{ "0x…": "reverted" }`. */
  refuted: Record<string, string>;
}

/** A transfer that was made; the loop declares it, unless a PAYMENT names it already. */
export interface Paid {
  txHash: string;
  payer: string;
  authorizationNonce?: string;
}

/** Pays; gives nothing where it declared the PAYMENT itself. */
export type Pay = (due: Due) => Soon<Paid | undefined | void>;

/** Thrown by a `pay`: nothing is lost, and it may work in a moment. */
export class PayLater extends Error {}

export class Initiator extends Loop {
  constructor(options: LoopOptions & {
    /** It does not start without. */
    caps: Caps;
    pay: Pay;
    /** True accepts, a text rejects for that reason, null is asked again in a second. */
    decide: (request: Members, offer: Members) => Soon<true | string | null>;
    /** True is good, a text disputes, null is asked again; without it whatever is inline is good. */
    judge?: (request: Members, result: Members) => Soon<true | string | null>;
    orders?: Order[];
    /** Not needed where the ledger has one. */
    network?: string;
    /** Hundredths; an OFFER of a provider with a lower score of trust is rejected without asking `decide`. */
    leastTrust?: number;
    /** Needed where an order has an opening price. */
    negotiation?: Negotiation;
  });
}

/** The command failed. */
export class BinaryFault extends Error {
  readonly code: string;
  /** null where the command was ended, by a signal or after 120 s. */
  readonly exitCode: number | null;
  readonly answer: Members;
}
/** Where the binary is: X811_BINARY, else in this package. */
export function binaryPath(): string;
/** Runs `x811 --json WORDS`, without a shell. */
export function runBinary(...words: string[]): Promise<any>;
/** `x811 pay`: keeps the signed transfer before it is sent, pays once, declares the PAYMENT. */
export function binaryPayer(who: { ledger: string; home: string; agent: string; rpc: string }): Pay;
