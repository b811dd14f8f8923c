#!/usr/bin/env node
// Runs the binary of this package with the same arguments, and ends as it ends.
import { spawn } from "node:child_process";
import { binaryPath } from "../lib/binary.js";

const child = spawn(binaryPath(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`x811: ${error.message}`);
  process.exit(4);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
