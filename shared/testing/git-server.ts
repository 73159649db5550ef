import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export interface GitServer {
  /** `host:port`. */
  readonly host: string;
  readonly url: string;
  /** The repository's own folder, bare. */
  readonly repository: string;
  /** Where one is given, who does not send it is refused. */
  password: string | null;
  /** What came in the header Authorization, in order. */
  readonly authorizations: (string | undefined)[];
  /** Runs git in a work tree of it. */
  git(...args: string[]): string;
  readonly tree: string;
  /** Commits all that is in the work tree and pushes it; answers the commit. */
  push(branch?: string): string;
  close(): Promise<void>;
}

/** git's own server over HTTP, on loopback. */
export async function startGitServer(): Promise<GitServer> {
  const root = mkdtempSync(path.join(tmpdir(), "airlock-git-"));
  const [repository, tree] = [path.join(root, "team.git"), path.join(root, "tree")];
  const environment = {
    PATH: "/usr/bin:/bin",
    HOME: root,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "test",
    GIT_AUTHOR_EMAIL: "test@example",
    GIT_COMMITTER_NAME: "test",
    GIT_COMMITTER_EMAIL: "test@example",
  };
  mkdirSync(tree);
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: tree, env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  git("init", "--quiet", "--bare", "--initial-branch=main", repository);
  git("init", "--quiet", "--initial-branch=main");
  const backend = path.join(git("--exec-path").trim(), "git-http-backend");
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { authorization } = request.headers;
    server.authorizations.push(authorization);
    const wanted =
      server.password === null ? null : Buffer.from(`x-access-token:${server.password}`).toString("base64");
    if (wanted !== null && authorization !== `Basic ${wanted}`) {
      response.writeHead(401, { "www-authenticate": "Basic" }).end();
      return;
    }
    runBackend(backend, root, environment, request, response);
  };
  const http = createServer(serve);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: GitServer = {
    host,
    url: `http://${host}/team.git`,
    repository,
    tree,
    password: null,
    authorizations: [],
    git,
    push(branch = "main") {
      git("add", "--all");
      git("commit", "--quiet", "--allow-empty", "--message=a test");
      git("push", "--quiet", "--force", repository, `HEAD:refs/heads/${branch}`);
      return git("rev-parse", "HEAD").trim();
    },
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      rmSync(root, { recursive: true });
    },
  };
  return server;
}

/** By the rules of CGI. */
function runBackend(
  backend: string,
  root: string,
  environment: Readonly<Record<string, string>>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const child = spawn(backend, [], {
    env: {
      ...environment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? "",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => undefined);
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  child.once("close", () => {
    const answer = Buffer.concat(pieces);
    const end = answer.indexOf("\r\n\r\n");
    let status = 200;
    for (const line of answer.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(/:\s*/, 2);
      if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status).end(answer.subarray(end + 4));
  });
}
