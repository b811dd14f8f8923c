// Compiles the contracts with the pinned solc and writes contracts/artifacts/.
// `--check` writes nothing and fails when what is checked in is not exactly what the source compiles to.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const CONTRACTS = ["TestUsdc", "TestWallet"];
const SOURCES = ["TestUsdc.sol", "TestWallet.sol", "Eip3009.sol", "SignatureChecker.sol"];

const here = dirname(fileURLToPath(import.meta.url));
const artifactsDir = join(here, "artifacts");

const check = process.argv.includes("--check");
const artifacts = compile(loadSolc());
const stale = check ? differing(artifacts) : write(artifacts);
if (stale.length > 0) {
  fail(
    `these artifacts are not what the pinned solc makes of the source:\n  ${stale.join("\n  ")}\n` +
      "Run `npm run contracts:build` and commit contracts/artifacts/ together with the source.",
  );
}
console.log(`${check ? "checked" : "wrote"} ${artifacts.size} artifacts of ${CONTRACTS.join(", ")}`);

function loadSolc() {
  const manifest = JSON.parse(readFileSync(join(here, "..", "package.json"), "utf8"));
  const pinned = manifest.devDependencies.solc;
  let solc;
  try {
    solc = createRequire(import.meta.url)("solc");
  } catch (cause) {
    fail(`solc ${pinned} cannot be loaded (${cause.code ?? cause}). Run \`npm ci\` in the checkout first.`);
  }
  const found = solc.version().split("+")[0];
  if (found !== pinned) {
    fail(`node_modules holds solc ${found}, package.json pins ${pinned}. Run \`npm ci\`.`);
  }
  return solc;
}

function compile(solc) {
  const sources = {};
  for (const file of SOURCES) {
    sources[file] = { content: readFileSync(join(here, "src", file), "utf8") };
  }
  const input = {
    language: "Solidity",
    sources,
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 200 },
      // No metadata: the bytes then depend on the code alone, not on comments or file names.
      metadata: { bytecodeHash: "none", appendCBOR: false },
      outputSelection: {
        "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode"] },
      },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const problems = output.errors ?? [];
  if (problems.length > 0) {
    fail(problems.map((problem) => problem.formattedMessage).join("\n"));
  }

  const artifacts = new Map();
  for (const name of CONTRACTS) {
    const contract = output.contracts[`${name}.sol`][name];
    const runtime = contract.evm.deployedBytecode;
    if (Object.keys(runtime.immutableReferences ?? {}).length > 0) {
      fail(`${name} has immutables, so its runtime code cannot be placed at any address.`);
    }
    artifacts.set(`${name}.abi.json`, JSON.stringify(contract.abi, null, 2) + "\n");
    artifacts.set(`${name}.bin`, contract.evm.bytecode.object + "\n");
    artifacts.set(`${name}.runtime.bin`, runtime.object + "\n");
  }
  return artifacts;
}

function differing(artifacts) {
  return [...artifacts].filter(([file, text]) => checkedIn(file) !== text).map(([file]) => file);
}

function checkedIn(file) {
  try {
    return readFileSync(join(artifactsDir, file), "utf8");
  } catch (cause) {
    if (cause.code === "ENOENT") return undefined;
    throw cause;
  }
}

function write(artifacts) {
  mkdirSync(artifactsDir, { recursive: true });
  for (const [file, text] of artifacts) writeFileSync(join(artifactsDir, file), text);
  return [];
}

function fail(message) {
  console.error(`contracts: ${message}`);
  process.exit(1);
}
