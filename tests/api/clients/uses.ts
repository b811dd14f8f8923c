// Compiled against the types that are generated from a ledger's description: what a client writes.
import type { components, operations } from "./ledger";

type Schemas = components["schemas"];

const offer: Schemas["OfferPayload"] = {
  request_id: "019b7c01-5220-7821-945c-22b879dc006f",
  price: "1",
  protocol_fee: "0.025",
  total_cost: "1.025",
  currency: "USDC",
  estimated_time: 10,
  deliverables: ["the text in German"],
  expiry: 300,
};

// @ts-expect-error an OFFER without a price is none
const priceless: Schemas["OfferPayload"] = { ...offer, price: undefined };

// @ts-expect-error no such word
const policy: Schemas["RequestPayload"]["acceptance_policy"] = "sometimes";

const payloads: Schemas["Payload"][] = [offer, { text: "of my own" }];

type Submitted = operations["submitMessage"]["requestBody"]["content"]["application/json"];
type Accepted = operations["submitMessage"]["responses"][202]["content"]["application/json"];
type Refused = operations["submitMessage"]["responses"][422]["content"]["application/json"];

export function envelope(payload: Schemas["Payload"]): Submitted {
  return {
    id: "019b7c01-5220-7b44-84ee-bbf7f98cb0b6",
    version: "0.1.0",
    type: "x811/offer",
    from: "did:x811:019b7c01-0400-742b-95cd-8fbbfcfe9965",
    to: "did:x811:019b7c01-0400-71a8-b55b-962330df23ef",
    created: "2026-01-02T00:00:00.000Z",
    nonce: "5449b9b1-502f-4421-a4b1-4a01219c86e6",
    payload,
    signature: "",
  };
}

export function told(answer: Accepted | Refused): string {
  return "position" in answer ? `at ${answer.position}` : `${answer.code}: ${answer.message}`;
}

export { payloads, policy, priceless };
