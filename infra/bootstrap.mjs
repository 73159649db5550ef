// Runs a script on the pinned Node 24, installing what is missing first. Plain JavaScript without dependencies,
// because it is the one file that runs before anything is installed, on whatever Node (20 or newer) the machine has.
// usage: node infra/bootstrap.mjs <script> [arguments]

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const modules = path.join(root, "node_modules");
const stampFile = path.join(modules, ".airlock-install");
const windows = process.platform === "win32";
const pinnedNode = path.join(modules, "node", "bin", windows ? "node.exe" : "node");

/** npm puts node_modules/.bin first in PATH, and there lies the very Node that an install deletes and replaces. */
function outerPath() {
  const parts = (process.env.PATH ?? "").split(path.delimiter);
  return parts.filter((part) => !part.replaceAll("\\", "/").includes("/node_modules/"));
}

function outerNode() {
  if (!process.execPath.startsWith(modules + path.sep)) return process.execPath;
  const candidates = outerPath().map((part) => path.join(part, windows ? "node.exe" : "node"));
  return candidates.find((candidate) => existsSync(candidate)) ?? process.execPath;
}

function outerEnvironment() {
  const environment = { ...process.env, PATH: outerPath().join(path.delimiter) };
  delete environment.npm_node_execpath;
  return environment;
}

function npm(args) {
  const cli = process.env.npm_execpath;
  const viaNode = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli) && existsSync(cli);
  const [command, prefix] = viaNode ? [outerNode(), [cli]] : [windows ? "npm.cmd" : "npm", []];
  return run(command, [...prefix, ...args], { env: outerEnvironment(), shell: windows && !viaNode });
}

function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: "inherit", ...options });
    // Ctrl-C reaches the child through the process group and again through us: programs take a repeat within a second
    // for the same signal, so that forwarding is always right (a signal sent to us alone must arrive too).
    const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
    const forward = (signal) => child.kill(signal);
    for (const signal of signals) process.on(signal, forward);
    const settle = (act) => {
      for (const signal of signals) process.off(signal, forward);
      act();
    };
    child.once("error", (error) => settle(() => reject(error)));
    child.once("exit", (code, signal) => settle(() => resolve(code ?? 128 + (constants.signals[signal] ?? 0))));
  });
}

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(path.join(root, "package-lock.json")))
    .digest("hex");
}

function read(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

/** npm writes node_modules/.package-lock.json when an install is complete, so a plain `npm install` counts as ours. */
function installedByHand() {
  const installed = read(path.join(modules, ".package-lock.json"));
  if (installed === null) return false;
  const present = JSON.parse(installed).packages;
  const wanted = Object.entries(JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")).packages);
  return wanted.every(([name, entry]) => {
    if (name === "" || !name.includes("node_modules/")) return true;
    // A workspace that came with a pull is in no registry: its link shows whether npm has seen it.
    if (entry.link) return existsSync(path.join(root, name));
    const found = present[name];
    return found === undefined ? Boolean(entry.optional) : found.version === entry.version;
  });
}

async function installMissing() {
  const hash = lockHash();
  if (read(stampFile) === hash) return;
  if (!installedByHand()) {
    const started = Date.now();
    console.error(`Airlock: installing packages (${existsSync(modules) ? "the lock file changed" : "first run"}) …`);
    // The development part holds Node itself, and NODE_ENV=production would leave it out.
    const all = ["--include=dev", "--include=optional", "--no-audit", "--no-fund"];
    let code = await npm(["ci", ...all]);
    if (code !== 0) {
      // A registry that lacks packages of other platforms makes "npm ci" refuse a lock file that is fine for this one.
      console.error('Airlock: "npm ci" failed; trying "npm install", which is less strict …');
      code = await npm(["install", "--no-save", ...all]);
    }
    if (code !== 0) fail(`the packages could not be installed (exit code ${code}); its own message is above.`, code);
    console.error(`Airlock: installed in ${Math.round((Date.now() - started) / 1000)} s.`);
  }
  writeFileSync(stampFile, hash);
}

/** The npm package `node` fetches its binary in an install script; where scripts are off, that is done here. */
async function requireNode() {
  if (existsSync(pinnedNode)) return pinnedNode;
  const home = path.join(modules, "node");
  if (existsSync(path.join(home, "installArchSpecificPackage.js"))) {
    console.error("Airlock: install scripts are off, so the pinned Node is fetched now …");
    await run(outerNode(), ["installArchSpecificPackage.js"], { cwd: home, env: outerEnvironment() }).catch(() => 1);
  }
  if (existsSync(pinnedNode)) return pinnedNode;
  const system = windows ? "win" : process.platform;
  const prefix = system === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  const platformPackage = `${prefix}-${system}-${process.arch}`;
  const places = [path.join(home, "node_modules"), modules].map((place) =>
    path.join(place, platformPackage, "bin", path.basename(pinnedNode)),
  );
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  return fail(`the pinned Node is missing. Run "npm rebuild node --ignore-scripts=false", or start with Node 24.`, 1);
}

function fail(message, code) {
  console.error(`Airlock: ${message}`);
  process.exit(code);
}

const [script, ...args] = process.argv.slice(2);
if (script === undefined) fail("usage: node infra/bootstrap.mjs <script> [arguments]", 2);
await installMissing();
const node = await requireNode();
const environment = { ...process.env, PATH: [path.dirname(node), process.env.PATH].join(path.delimiter) };
process.exitCode = await run(node, [path.resolve(root, script), ...args], { cwd: process.cwd(), env: environment });
