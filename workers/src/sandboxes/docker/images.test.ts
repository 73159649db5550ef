import { describeNeeding, needs, useDockerEngine } from "@airlock/shared/testing";
import { DEFAULT_SANDBOX_LIMITS } from "@airlock/shared/domain";
import { pack } from "tar-stream";
import { afterAll, afterEach, expect, it } from "vitest";
import { leaseRequest } from "../../../testing/lease-request.ts";
import { runProgram } from "../../../testing/run-program.ts";
import { connectToEngine } from "./engine.ts";
import { Images } from "./images.ts";
import { createDockerProvider } from "./index.ts";

const engine = needs("docker") ? await useDockerEngine() : { socket: "/nowhere", image: "none" };

describeNeeding("docker", "an image whose name comes to stand for another one", () => {
  const docker = connectToEngine(engine.socket);
  const provider = createDockerProvider({ ...engine, warm: 1 });
  afterAll(() => provider.close());
  const [repo, tag] = ["airlock-moving", `t${process.pid}`];
  const name = `${repo}:${tag}`;
  const config = { image: name };
  const made: string[] = [];
  afterEach(async () => {
    for (const id of made.splice(0))
      await docker
        .getImage(id)
        .remove({ force: true })
        .catch(() => {});
  });

  /** The image with one more file in it, as `docker commit` makes it, under the moving name. */
  async function rebuild(command: string): Promise<void> {
    const container = await docker.createContainer({ Image: engine.image, Cmd: ["sh", "-c", command], User: "0:0" });
    await container.start();
    await container.wait();
    const { Id } = (await container.commit({ repo, tag })) as { Id: string };
    await container.remove({ force: true });
    made.push(Id);
  }

  const markOf = async (pin: string) => {
    const code = 'return require("fs").readFileSync("/mark", "utf8")';
    return (await runProgram(provider, { code, lease: { config, pin } })).outcome;
  };

  it("stays the first one for what began with it, and each has its own proof", async () => {
    await rebuild("echo -n one >/mark");
    const first = (await provider.pin?.(config)) as string;
    const proof = await provider.prove?.(config, DEFAULT_SANDBOX_LIMITS, first);
    expect(await markOf(first)).toEqual({ kind: "returned", output: '"one"' });
    await rebuild("echo -n two >/mark; rm /usr/local/bin/bun");
    const second = (await provider.pin?.(config)) as string;
    expect(second).not.toBe(first);
    const other = await provider.prove?.(config, DEFAULT_SANDBOX_LIMITS, second);
    expect(await markOf(first)).toEqual({ kind: "returned", output: '"one"' });
    expect(await markOf(second)).toEqual({ kind: "returned", output: '"two"' });
    expect(proof).toMatchObject({
      available: true,
      isolation: { enforced: { languages: expect.arrayContaining(["BUN"]) as unknown } },
    });
    expect(other).toMatchObject({
      available: true,
      isolation: { enforced: { languages: expect.not.arrayContaining(["BUN"]) as unknown } },
    });
    const lease = { config, pin: second };
    const refused = await runProgram(provider, { code: "return 1", language: "BUN", lease });
    expect(refused.outcome).toMatchObject({
      kind: "failed",
      failure: { code: "UNSUPPORTED_ENVIRONMENT", message: /BUN/ },
    });
  });

  it("and was removed: says so at once, with a code", async () => {
    await rebuild("echo -n gone >/mark");
    const pin = (await provider.pin?.(config)) as string;
    await docker.getImage(name).remove({ force: true });
    await rebuild("echo -n other >/mark");
    const asked = {
      code: "PROBE_FAILED",
      message: expect.stringMatching(/content that the task began with/) as string,
    };
    await expect(provider.prove?.(config, DEFAULT_SANDBOX_LIMITS, pin)).rejects.toMatchObject(asked);
    await expect(provider.acquire(leaseRequest({ config, pin }))).rejects.toMatchObject(asked);
  });

  it("has the same content where it was imported again, as by another engine, under an id of its own", async () => {
    const images = new Images(docker);
    const found = [];
    for (const [index, text] of ["one", "one", "two"].entries()) {
      const archive = pack();
      archive.entry({ name: "file", mtime: new Date(0) }, text);
      archive.finalize();
      const as = `again${process.pid}x${index}`;
      const answer = await docker.importImage(archive, { repo, tag: as, changes: [`LABEL n=${index}`] });
      for await (const _ of answer);
      const image = await images.find(`${repo}:${as}`, null);
      if (image === null) throw new Error("it was not imported");
      made.push(image.id);
      found.push(image);
    }
    const [one, again, two] = found;
    expect([one?.id === again?.id, one?.pin === again?.pin, one?.pin === two?.pin]).toEqual([false, true, false]);
  });
});
