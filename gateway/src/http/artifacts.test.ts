import { newId } from "@airlock/shared/contracts";
import { insertOutput } from "@airlock/shared/db";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../testing/client.ts";
import { startTestGateway, type TestGateway } from "../../testing/gateway.ts";
import { SUBMIT, type Submitted } from "../../testing/operations.ts";

let gateway: TestGateway;
let projectId: string;
let admin: Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  const tenant = await gateway.tenant("filing");
  [projectId, admin] = [tenant.projectId, tenant.client];
});
afterAll(() => gateway.stop());

async function put(name: string, bytes: Buffer, contentType = "text/plain; charset=utf-8") {
  const { submitTask } = await admin.data<Submitted>(SUBMIT, { input: { code: "1" } });
  const taskId = submitTask.id;
  const { id, sha256 } = await insertOutput(gateway.db, { projectId, taskId, session: null, name, contentType, bytes });
  return { id, taskId, sha256 };
}
const get = (client: Client, path: string, init: RequestInit = {}) => client.raw({ path, ...init });

test("a task's file is listed without its bytes and downloaded byte for byte", async () => {
  const content = Buffer.from([0, 255, 1, 2, 3]);
  const { id, taskId, sha256 } = await put("out/data.bin", content, "application/octet-stream");
  const query = "query ($id: ID!) { task(id: $id) { artifacts { id name direction size contentType sha256 url } } }";
  const { task } = await admin.data<{ task: { artifacts: { url: string }[] } }>(query, { id: taskId });
  const [file] = task.artifacts;
  expect(file).toEqual({
    id,
    name: "out/data.bin",
    direction: "OUTPUT",
    size: 5,
    contentType: "application/octet-stream",
    sha256,
    url: `/artifacts/${id}`,
  });
  const response = await get(admin, file?.url ?? "");
  expect(response.status).toBe(200);
  expect(Buffer.from(await response.arrayBuffer())).toEqual(content);
  const head = await get(admin, file?.url ?? "", { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "5", ""]);
});

test("a page that a guest wrote is a download and never a page of ours", async () => {
  const { id } = await put(
    'evil"\r\nset-cookie: a=b\r\n/ü <x>.html',
    Buffer.from("<script>alert(1)</script>"),
    "text/html",
  );
  const { headers } = await get(admin, `/artifacts/${id}`);
  expect(headers.get("content-type")).toBe("text/html");
  expect(headers.get("content-disposition")).toBe(
    "attachment; filename=\"_ _x_.html\"; filename*=UTF-8''%C3%BC%20%3Cx%3E.html",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toContain("sandbox");
  expect(headers.get("set-cookie")).toBeNull();
});

test("a content type that is none does not break the answer", async () => {
  const { id } = await put("a\ud83e", Buffer.from("x"), "text/html\r\nx: y").catch(() =>
    put("a", Buffer.from("x"), "a b"),
  );
  expect((await get(admin, `/artifacts/${id}`)).headers.get("content-type")).toBe("application/octet-stream");
});

test("another project's file answers exactly like an unknown one", async () => {
  const { id } = await put("secret", Buffer.from("x"));
  const stranger = (await gateway.tenant("nosy")).client;
  const answerTo = async (path: string): Promise<string> => {
    const response = await get(stranger, path);
    return `${response.status} ${await response.text()}`;
  };
  const foreign = await answerTo(`/artifacts/${id}`);
  expect(foreign).toMatch(/^404 .*NOT_FOUND/);
  for (const unknown of [newId(), "x", "", "..%2f", `${id}/x`, "%00"])
    expect(await answerTo(`/artifacts/${unknown}`)).toBe(foreign);
});

test("downloading needs a key with the scope read", async () => {
  const { id } = await put("f", Buffer.from("x"));
  expect((await get(gateway.client(null), `/artifacts/${id}`)).status).toBe(401);
  expect((await get(gateway.client("nope"), `/artifacts/${id}`)).status).toBe(401);
  for (const scope of ["submit", "approve"]) {
    const { client } = await gateway.key(projectId, scope, [scope]);
    const response = await get(client, `/artifacts/${id}`);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: "FORBIDDEN" } }] });
  }
  const { client } = await gateway.key(projectId, "reader", ["read"]);
  expect((await get(client, `/artifacts/${id}`)).status).toBe(200);
  for (const method of ["POST", "PUT", "DELETE"])
    expect((await get(client, `/artifacts/${id}`, { method })).status).toBe(404);
});
