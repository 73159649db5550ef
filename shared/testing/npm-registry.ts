import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

/** A package: its files, and what its manifest says beside name and version. */
export interface TestPackage {
  readonly name: string;
  readonly version: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly manifest?: Readonly<Record<string, unknown>>;
}

export interface NpmRegistry {
  readonly url: string;
  /** Method and path of what was asked, in order. */
  readonly asked: string[];
  /** Where one is given, who does not send it is refused. */
  token: string | null;
  publish(one: TestPackage): void;
  /** How often the tarballs of a package were fetched. */
  fetched(name: string): number;
  close(): Promise<void>;
}

/** As much of a registry as npm needs to install: documents of packages, and tarballs. On loopback only. */
export async function startNpmRegistry(): Promise<NpmRegistry> {
  const packages = new Map<string, Map<string, { manifest: object; tarball: Buffer }>>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = decodeURIComponent(request.url ?? "");
    asked.push(`${request.method} ${url}`);
    if (registry.token !== null && request.headers.authorization !== `Bearer ${registry.token}`) {
      response.writeHead(401).end("{}");
      return;
    }
    const [, name = "", file] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+)\.tgz)?$/.exec(url) ?? [];
    const versions = packages.get(name);
    const tarball = file === undefined ? undefined : versions?.get(file)?.tarball;
    if (versions === undefined || (file !== undefined && tarball === undefined)) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
    } else if (tarball !== undefined) response.end(tarball);
    else {
      const document = {
        name,
        "dist-tags": { latest: [...versions.keys()].at(-1) },
        versions: Object.fromEntries([...versions].map(([version, { manifest }]) => [version, manifest])),
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(document));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const registry: NpmRegistry = {
    url,
    asked,
    token: null,
    publish({ name, version, files = {}, manifest = {} }) {
      const own = { name, version, main: "index.js", ...manifest };
      const tarball = gzipSync(tar({ "package.json": JSON.stringify(own), "index.js": "", ...files }));
      const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
      const dist = { tarball: `${url}${name}/-/${version}.tgz`, integrity };
      const versions = packages.get(name) ?? new Map<string, { manifest: object; tarball: Buffer }>();
      packages.set(name, versions.set(version, { manifest: { ...own, dist }, tarball }));
    },
    fetched: (name) => asked.filter((line) => line.startsWith(`GET /${name}/-/`)).length,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return registry;
}

/** Names may be as bad as a test wants. */
function tar(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([name, text]) => {
    const content = Buffer.from(text);
    const header = Buffer.alloc(512);
    header.write(`package/${name}`, 0, 100);
    header.write("0000644\0", 100);
    header.write(content.length.toString(8).padStart(11, "0"), 124);
    header.write("00000000000\0", 136);
    header.write("        0", 148);
    header.write("ustar\x0000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
