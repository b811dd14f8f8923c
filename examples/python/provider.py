"""A provider of `upper` at an x811 ledger, from docs/connect.md alone: it registers, offers, works,
delivers, waits until it is paid, and checks the proof: provider.py LEDGER_URL ACCOUNT_TO_BE_PAID"""
import base64, contextlib, hashlib, json, os, sys, time, urllib.error, urllib.parse, urllib.request, uuid
import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
LEDGER, ACCOUNT = sys.argv[1].rstrip("/"), sys.argv[2]
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# A ledger on this machine is never asked through a proxy; for another one, HTTP_PROXY and HTTPS_PROXY count.
IS_HERE = urllib.parse.urlsplit(LEDGER).hostname in ("localhost", "127.0.0.1", "::1")
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({} if IS_HERE else None))

def uuid7():
    at, rest = int(time.time() * 1000), int.from_bytes(os.urandom(10), "big")
    return str(uuid.UUID(int=at << 80 | 7 << 76 | rest % 2**76 >> 64 << 64 | 2 << 62 | rest % 2**62))

def multibase(key):
    number, text = int.from_bytes(b"\xed\x01" + key, "big"), ""
    while number:
        number, text = number // 58, BASE58[number % 58] + text
    return "z" + text

def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

def verified(envelope):
    """Signed by a key of its sender's DID document (section 3); else it is passed over."""
    said = {name: envelope[name] for name in envelope if name != "signature"}
    signature = base64.urlsafe_b64decode(envelope["signature"] + "==")
    document = json.loads(call("GET", f"/api/v1/agents/{envelope['from'][9:]}/did", signed=False))
    for method in document["verificationMethod"]:
        number = 0
        for letter in method["publicKeyMultibase"][1:]:
            number = number * 58 + BASE58.index(letter)
        sender = Ed25519PublicKey.from_public_bytes(number.to_bytes(34, "big")[2:])
        with contextlib.suppress(InvalidSignature):
            sender.verify(signature, hashlib.sha256(rfc8785.dumps(said)).digest())
            return True
    return False

key = Ed25519PrivateKey.generate()
me, public = f"did:x811:{uuid7()}", multibase(key.public_key().public_bytes_raw())

def call(method, path, query="", body=None, signed=True):
    """One request; reads of one's own are signed as RFC 9421 says (section 9)."""
    url = LEDGER + path + (f"?{query}" if query else "")
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
    if signed and body is None:
        covered = '("@method" "@authority" "@path" "@query")'
        covered += f';created={int(time.time())};nonce="{unpadded(os.urandom(16))}"'
        covered += f';keyid="{me}#{public}";alg="ed25519"'
        base = f'"@method": {method}\n"@authority": {LEDGER.split("//")[1]}\n"@path": {path}\n'
        base += f'"@query": ?{query}\n"@signature-params": {covered}'
        signature = base64.b64encode(key.sign(base.encode())).decode()
        request.add_header("Signature-Input", f"sig={covered}")
        request.add_header("Signature", f"sig=:{signature}:")
    with HTTP.open(request, timeout=60) as answer:
        return answer.read()

def say(to, kind, payload):
    """Signs a message, and sends the same bytes until there is an answer (sections 2 to 4)."""
    at = time.time()
    created = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03}Z"
    envelope = {"version": "0.1.0", "id": uuid7(), "type": kind, "from": me, "to": to}
    envelope |= {"created": created, "nonce": str(uuid.uuid4()), "payload": payload}
    digest = hashlib.sha256(rfc8785.dumps(envelope)).digest()
    body = json.dumps(envelope | {"signature": unpadded(key.sign(digest))}).encode()
    while True:
        try:
            return envelope["id"], json.loads(call("POST", "/api/v1/messages", body=body))
        except urllib.error.HTTPError as refused:
            answer = json.loads(refused.read())
            first = (answer.get("details") or {}).get("first", {})
            if "position" in first:  # it had been taken, and the answer was lost
                return envelope["id"], first
            if answer["code"] not in ("X811-9001", "X811-9002", "X811-3003"):
                raise SystemExit(f"{kind} refused: {answer}") from None
        except OSError as lost:
            print("no answer yet:", lost)
        time.sleep(1)

def register(info):
    method = f"{me}#{public}"
    entry = {"id": method, "controller": me, "type": "Ed25519VerificationKey2020"}
    document = {"@context": ["https://www.w3.org/ns/did/v1"], "id": me, "authentication": [method]}
    document["verificationMethod"] = [entry | {"publicKeyMultibase": public}]
    say(info["did"], "x811.registry/register", {"document": document, "capabilities": ["upper"]})
    print("registered", me, flush=True)

def offer(request):
    payload = {"request_id": request["id"], "price": "0.01", "protocol_fee": "0.00025"}
    payload |= {"total_cost": "0.01025", "currency": "USDC", "estimated_time": 5}
    payload |= {"deliverables": ["the text in capitals"], "expiry": 60, "payment_address": ACCOUNT}
    return say(request["from"], "x811/offer", payload)[0]

def deliver(request, offer_id):
    content = request["payload"]["parameters"]["text"].upper()
    payload = {"request_id": request["id"], "offer_id": offer_id, "content_type": "text/plain"}
    payload["result_hash"] = hashlib.sha256(content.encode()).hexdigest()
    payload |= {"content": content, "execution_time_ms": 1}
    say(request["from"], "x811/result", payload)

def prove(info, interaction):
    """The record that says it is paid is under a checkpoint that the ledger signed."""
    receipt = json.loads(call("GET", f"/api/v1/interactions/{interaction}/receipt"))
    position = receipt["confirmed"]["position"]
    proof = call("GET", f"/api/v1/records/{position}/proof").decode()
    head, note = proof.split("\n\n", 1)
    _, extra, index, *path = head.split("\n")
    text, signatures = note.split("\n\n", 1)
    _, size, root = text.split("\n")
    vkey = base64.b64decode(info["checkpoint_vkey"].split("+", 2)[2])
    signed = base64.b64decode(signatures.split("\n")[0].split(" ")[2])
    Ed25519PublicKey.from_public_bytes(vkey[1:]).verify(signed[4:], (text + "\n").encode())
    leaf = base64.b64decode(extra[6:])
    at, last, node = int(index[6:]), int(size) - 1, hashlib.sha256(b"\0" + leaf).digest()
    for beside in map(base64.b64decode, path):  # RFC 9162, section 2.1.3.2
        if at & 1 or at == last:
            node = hashlib.sha256(b"\1" + beside + node).digest()
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + beside).digest()
        at, last = at >> 1, last >> 1
    record = json.loads(leaf)
    assert last == 0 and base64.b64encode(node).decode() == root, "not under the checkpoint"
    assert record["stream"] == f"interaction:{interaction}" and record["event"]["type"] == "confirmed"
    print("paid and proven", interaction, "record", position, flush=True)

def main():
    info = json.loads(call("GET", "/.well-known/x811.json", signed=False))
    register(info)
    after, requests, awaited = "", {}, set()
    while True:
        page = json.loads(call("GET", f"/api/v1/messages/{me[9:]}", f"{after}wait_ms=5000"))
        after = f"after={page['next']}&"
        for envelope in (message["envelope"] for message in page["messages"]):
            kind, payload = envelope["type"], envelope["payload"]
            if envelope["from"] == info["did"] or not verified(envelope):
                print("notice of the ledger, or not to be believed:", payload)
            elif kind == "x811/request":
                requests[offer(envelope)] = envelope
            elif kind == "x811/accept":
                deliver(requests[payload["offer_id"]], payload["offer_id"])
            elif kind == "x811/payment":
                awaited.add(payload["request_id"])
        for interaction in list(awaited):
            where = json.loads(call("GET", f"/api/v1/interactions/{interaction}/settlement"))
            if where["paid"] == "yes":
                prove(info, interaction)
                awaited.remove(interaction)

main()
