import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { installSandboxImage, makeSandboxImage } from "./index.ts";

const HELP = `npm run sandbox-image [-- options]: makes the image that the docker provider runs its guests in

From Debian's packages (mmdebstrap), the Node of this checkout and npm's Bun: no registry of images is asked.
It needs root, or user namespaces, and takes about a minute; what was made before is used again.

  --socket <path>   the engine that gets it (AIRLOCK_DOCKER_SOCKET, or /var/run/docker.sock)
  --only-tar        makes the file and gives it to nobody: docker import takes it
  --fresh           makes it again, with what Debian has now
`;

const { values } = parseArgs({
  options: {
    socket: { type: "string" },
    "only-tar": { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(HELP);
} else if (values["only-tar"]) {
  const { tarFile } = await makeSandboxImage({ fresh: values.fresh });
  console.log(tarFile);
} else {
  const socket = values.socket ?? process.env["AIRLOCK_DOCKER_SOCKET"] ?? "/var/run/docker.sock";
  if (existsSync(socket)) console.log(await installSandboxImage(socket, { fresh: values.fresh }));
  else {
    console.error(`no engine has a socket at ${socket}`);
    process.exitCode = 1;
  }
}
