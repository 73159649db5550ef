import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { nodeBinary, type Recipe } from "./recipe.ts";

const run = promisify(execFile);

/** Left out: nobody reads manuals in there, and they are a third of it. */
const WITHOUT = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"];
/** So that two builds of the same packages give the same bytes. */
const EPOCH = "1735689600";

/** Makes the root file system as a tar, from Debian's packages and npm's, without any registry of images. */
export async function makeRootFileSystem(recipe: Recipe, tarFile: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "airlock-image-"));
  try {
    const binaries = path.join(folder, "bin");
    await mkdir(binaries);
    await copyFile(nodeBinary(), path.join(binaries, "node"));
    await fetchBun(recipe, folder, path.join(binaries, "bun"));
    const made = `${tarFile}.${process.pid}`;
    await run("mmdebstrap", [...argumentsFor(recipe, binaries), made], {
      env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: tmpdir(), SOURCE_DATE_EPOCH: EPOCH, LANG: "C" },
      maxBuffer: 64 * 1024 * 1024,
    });
    await rename(made, tarFile);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function argumentsFor({ suite, packages, uid }: Recipe, binaries: string): string[] {
  const inside = (command: string) => `--customize-hook=chroot "$1" sh -ec '${command}'`;
  return [
    "--quiet",
    "--variant=minbase",
    "--format=tar",
    `--include=${packages.join(",")}`,
    ...WITHOUT.map((glob) => `--dpkgopt=path-exclude=${glob}`),
    `--customize-hook=copy-in ${binaries}/node ${binaries}/bun /usr/local/bin`,
    inside("chmod 755 /usr/local/bin/node /usr/local/bin/bun"),
    inside(`echo "guest:x:${uid}:${uid}::/home/guest:/bin/bash" >>/etc/passwd; echo "guest:x:${uid}:" >>/etc/group`),
    inside("mkdir -p /work /agent /home/guest"),
    // No program of it gains anything by being run.
    inside("find / -xdev -type f -perm /6000 -exec chmod a-s {} +"),
    suite,
  ];
}

async function fetchBun({ bun }: Recipe, folder: string, target: string): Promise<void> {
  const { stdout } = await run("npm", ["pack", "--silent", `${bun.package}@${bun.version}`], { cwd: folder });
  const archive = path.join(folder, stdout.trim().split("\n").at(-1) ?? "");
  const digest = createHash("sha512")
    .update(await readFile(archive))
    .digest("base64");
  if (`sha512-${digest}` !== bun.integrity)
    throw new Error(`${bun.package} is not what it should be: sha512-${digest}`);
  await run("tar", ["-xzf", archive, "-C", folder, "package/bin/bun"]);
  await rename(path.join(folder, "package/bin/bun"), target);
}
