"""Makes chains of XAP with the SDK from PyPI, in its sandbox: no network, keys of the moment.

For each number of counters on standard input one line of JSON: the steps, and the agents' keys.
"""

import json
import sys

from xap import XAPClient

# What implementations escape differently.
TASK = "r\u00e9sum\u00e9 \U0001f600 \u2028 \x7f <\"\\>\n\t"


def chain(counters):
    ada, bert = XAPClient.sandbox(), XAPClient.sandbox()
    amount = 500 + counters
    step = ada.negotiation.create_offer(bert.agent_id, TASK, amount, currency="USDC")
    steps, author, other = [step], ada, bert
    for turn in range(counters):
        author, other = other, author
        step = author.negotiation.counter_offer(step, new_amount=amount + turn)
        steps.append(step)
    ends = other.negotiation.reject if counters % 3 == 2 else other.negotiation.accept
    steps.append(ends(step))
    keys = {str(who.agent_id): who.signer.public_key_base64() for who in (ada, bert)}
    return {"steps": steps, "keys": keys}


for line in sys.stdin:
    print(json.dumps(chain(int(line))))
