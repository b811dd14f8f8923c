// Requests to one ledger: directly, or through the proxy that the environment names. The rules are those of the
// command (crates/client/src/outgoing.rs), for Node 20 and later: fetch obeys no proxy before Node 22.21.
import http from "node:http";
import https from "node:https";
import { BlockList, isIP } from "node:net";

/** How long an idle connection is kept, and how long a proxy may take to open a tunnel, in milliseconds. */
const [idleMs, tunnelMs] = [5_000, 10_000];

const familyOf = (address) => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** True if the address lies in a network, `127.0.0.0/8`, or is the address itself. */
function isIn(address, network) {
  const [base, bits] = network.split("/");
  const most = isIP(base) === 6 ? 128 : 32;
  if (isIP(base) === 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= most))) return false;
  const list = new BlockList();
  list.addSubnet(base, Number(bits ?? most), familyOf(base));
  return list.check(address, familyOf(address));
}

function isLoopback(host) {
  return host === "localhost" || (isIP(host) !== 0 && ["127.0.0.0/8", "::1"].some((network) => isIn(host, network)));
}

/** True if an entry of NO_PROXY names the host: `*`, an address, a network, or a domain with what is under it. */
function isExempt(host, entry) {
  if (entry === "*") return true;
  if (isIP(host) !== 0) return isIn(host, entry);
  const domain = entry.replace(/^\./, "").toLowerCase();
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

/** Returns the proxy for a URL, `{address, servername, headers}`; null for a loopback host, or where the environment
 * names none. */
export function proxyFor(url, environment) {
  const valueOf = (name) => environment[name] ?? environment[name.toLowerCase()] ?? "";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // In CGI, HTTP_PROXY is a header of the request that is answered.
  if (environment.REQUEST_METHOD !== undefined || isLoopback(host)) return null;
  if (valueOf("NO_PROXY").split(",").some((entry) => isExempt(host, entry.trim()))) return null;
  const name = [url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY"].find((one) => valueOf(one) !== "");
  return name === undefined ? null : proxyOf(name, valueOf(name));
}

function proxyOf(name, text) {
  try {
    const address = new URL(text.includes("://") ? text : `http://${text}`);
    if (!["http:", "https:"].includes(address.protocol)) throw new TypeError(address.protocol);
    const user = [address.username, address.password].map(decodeURIComponent).join(":");
    [address.username, address.password] = ["", ""];
    const headers = user === ":" ? {} : { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
    // In TLS to the proxy; without it, Node takes the host of the request.
    const host = address.hostname.replace(/^\[|\]$/g, "");
    return { address, servername: isIP(host) === 0 ? host : "", headers };
  } catch {
    // It may hold a password: it is not shown.
    throw new TypeError(`${name} is not the address of an HTTP proxy: set it to http://HOST:PORT, or name the ledger's host in NO_PROXY`);
  }
}

const moduleOf = (url) => (url.protocol === "https:" ? https : http);

/** Connections to an HTTPS server, each through a tunnel of the proxy. */
class Tunnels extends https.Agent {
  constructor(proxy, options) {
    super(options);
    this.proxy = proxy;
  }

  createConnection(options, done) {
    const { address, servername, headers } = this.proxy;
    const path = `${isIP(options.host) === 6 ? `[${options.host}]` : options.host}:${options.port}`;
    const request = moduleOf(address).request(address, {
      method: "CONNECT", path, servername, agent: false, timeout: tunnelMs, headers: { host: path, ...headers },
    });
    request.on("timeout", () => request.destroy(new Error(`the proxy ${address.host} opened no tunnel within 10 s`)));
    request.on("error", done);
    request.on("connect", ({ statusCode }, socket) => {
      if (statusCode >= 200 && statusCode < 300) return done(null, super.createConnection({ ...options, socket }));
      socket.destroy();
      done(new Error(`the proxy ${address.host} opened no tunnel, status ${statusCode}`));
    });
    request.end();
  }
}

/** Returns a function that sends a request to the URL's server and resolves to the response. It follows no
 * redirection. */
export function senderTo(url, environment) {
  const proxy = proxyFor(url, environment);
  const isSecure = url.protocol === "https:";
  // In plain HTTP the request goes to the proxy, with the whole URL in its first line.
  const isRelayed = proxy !== null && !isSecure;
  const [server, origin] = isRelayed ? [proxy.address, url.origin] : [url, ""];
  const { headers: extra, servername } = isRelayed ? proxy : {};
  const options = { keepAlive: true, timeout: idleMs };
  // Node's own agents may use a proxy for this machine, too: NODE_USE_ENV_PROXY.
  const agent = proxy && isSecure ? new Tunnels(proxy, options) : new (moduleOf(server).Agent)(options);
  return (method, path, { headers, body, signal }) => new Promise((resolve, reject) => {
    const all = { host: url.host, ...headers, ...extra };
    const request = moduleOf(server).request(server, { method, path: origin + path, servername, headers: all, agent, signal });
    request.on("error", reject).on("response", resolve).end(body);
  });
}
