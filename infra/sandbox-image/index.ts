import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { hasImage, IMAGE, importImage } from "./engine.ts";
import { currentRecipe, tagOf } from "./recipe.ts";
import { makeRootFileSystem } from "./root-file-system.ts";

export { answers } from "./engine.ts";

export interface MadeImage {
  readonly image: string;
  readonly tarFile: string;
}

/** The sandbox image as a tar, from an earlier build where there is one. */
export async function makeSandboxImage({ fresh = false } = {}): Promise<MadeImage> {
  const recipe = currentRecipe();
  const tag = tagOf(recipe);
  const folder = path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "airlock");
  const tarFile = path.join(folder, `sandbox-image-${tag}.tar`);
  if (fresh || !existsSync(tarFile)) {
    await mkdir(folder, { recursive: true });
    await makeRootFileSystem(recipe, tarFile);
  }
  return { image: `${IMAGE}:${tag}`, tarFile };
}

/** Makes the image and gives it to the engine at this socket. Answers its name. */
export async function installSandboxImage(socketPath: string, options: { fresh?: boolean } = {}): Promise<string> {
  const { image, tarFile } = await makeSandboxImage(options);
  const tag = image.slice(IMAGE.length + 1);
  if (options.fresh === true || !(await hasImage(socketPath, tag))) await importImage(socketPath, tarFile, tag);
  return image;
}
