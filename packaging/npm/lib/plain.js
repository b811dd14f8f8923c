// JSON data: a message is signed over the very data that is sent.

/** The deepest nesting in a payload; the ledger reads 128 levels, and the envelope and its payload are two. */
const mostLevels = 126;

/** Returns why `holder[name]`, which JSON.stringify sees as `member`, cannot be sent, and what to write instead;
 * undefined if it can. */
function faultOf(holder, name, member, isRoot) {
  if (!name.isWellFormed()) return "has a name with a lone surrogate: name.toWellFormed() replaces it";
  if (member === undefined && (isRoot || Array.isArray(holder))) return "is undefined: write null, or leave the element out";
  if (holder[name] instanceof Date && member === null) return "is an invalid Date: write null, or leave it out";
  if (member instanceof Map) return "is a Map: write an object, Object.fromEntries(value)";
  if (member instanceof Set) return "is a Set: write an array, [...value]";
  switch (typeof member) {
    case "bigint": return "is a BigInt: write it as text, String(value)";
    case "function": case "symbol": return `is a ${typeof member}: leave it out`;
    case "string": return member.isWellFormed() ? undefined : "has a lone surrogate: value.toWellFormed() replaces it";
    case "number":
      if (!Number.isFinite(member)) return `is ${member}: write null, or text`;
      if (Math.abs(member) > Number.MAX_SAFE_INTEGER) return `is ${member}, over 2^53 - 1: write it as text`;
  }
  return undefined;
}

function pathOf(above, holder, name) {
  if (Array.isArray(holder)) return `${above}[${name}]`;
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) return `${above}[${JSON.stringify(name)}]`;
  return above ? `${above}.${name}` : name;
}

/** Returns a copy of the value as JSON.stringify writes it: a Date as text, without members that are undefined. Throws
 * a TypeError that names the first member that cannot be sent by its path under `root`. */
export function plain(value, root = "") {
  const places = new Map();
  const text = JSON.stringify(value, function (name, member) {
    const above = places.get(this);
    const path = above ? pathOf(above.path, this, name) : root;
    const level = above ? above.level + 1 : 0;
    const holdsMembers = member !== null && typeof member === "object";
    const isTooDeep = holdsMembers && level > mostLevels;
    const fault = isTooDeep ? `is nested deeper than ${mostLevels} levels` : faultOf(this, name, member, !above);
    if (fault !== undefined) throw new TypeError(`${path || "the payload"} ${fault}`);
    if (holdsMembers) places.set(member, { path, level });
    return member;
  });
  return JSON.parse(text);
}
