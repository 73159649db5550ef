#!/usr/bin/env node
// Starts the command line. Its sources are TypeScript, which Node runs from 24 on; an older Node hands over to the one
// that this checkout pins.

if (Number(process.versions.node.split(".")[0]) >= 24) await import("../src/main.ts");
else {
  const main = new URL("../src/main.ts", import.meta.url).pathname;
  process.argv.splice(2, 0, main);
  await import("../../../infra/bootstrap.mjs");
}
