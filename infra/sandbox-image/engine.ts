import { createReadStream } from "node:fs";
import { request } from "node:http";
import { stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";

export const IMAGE = "airlock-sandbox";

/** Gives an engine (Docker's or Podman's) a root file system as an image of this tag, and of `latest`. */
export async function importImage(socketPath: string, tarFile: string, tag: string): Promise<void> {
  const query = new URLSearchParams({ fromSrc: "-", repo: IMAGE, tag });
  for (const change of ["ENV PATH=/usr/local/bin:/usr/bin:/bin", "WORKDIR /work", "USER 65532:65532"]) {
    query.append("changes", change);
  }
  const { size } = await stat(tarFile);
  const answer = Promise.withResolvers<IncomingMessage>();
  const sending = request(
    { socketPath, method: "POST", path: `/images/create?${query.toString()}`, headers: { "content-length": size } },
    answer.resolve,
  );
  sending.on("error", answer.reject);
  await pipeline(createReadStream(tarFile), sending);
  const said = await text(await answer.promise);
  if ((await answer.promise).statusCode !== 200 || said.includes('"error"')) throw new Error(said.trim());
  await call(socketPath, "POST", `/images/${IMAGE}:${tag}/tag?repo=${IMAGE}&tag=latest`);
}

export async function hasImage(socketPath: string, tag: string): Promise<boolean> {
  return (await status(socketPath, "GET", `/images/${IMAGE}:${tag}/json`)) === 200;
}

/** Whether an engine answers there. */
export async function answers(socketPath: string): Promise<boolean> {
  return status(socketPath, "GET", "/_ping").then(
    (code) => code === 200,
    () => false,
  );
}

async function call(socketPath: string, method: string, path: string): Promise<void> {
  const code = await status(socketPath, method, path);
  if (code >= 300) throw new Error(`the engine answered ${code} to ${method} ${path}`);
}

function status(socketPath: string, method: string, path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  request({ socketPath, method, path }, (response) => {
    response.resume();
    response.on("end", () => resolve(response.statusCode ?? 0));
  })
    .on("error", reject)
    .end();
  return promise;
}
