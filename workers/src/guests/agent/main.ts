import { connect, type Way } from "./connection.ts";
import type { Message, Order } from "./order.ts";
import { BashSession } from "./bash-session.ts";
import { Session } from "./session.ts";

/**
 * The agent beside the program, in its own process. It becomes one self-contained script (`agent-source.ts`), so
 * nothing here but Node's own modules and relative files is imported, and all names on the top level differ.
 */
function argument(name: string): string | null {
  const at = process.argv.indexOf(name);
  return at < 0 ? null : (process.argv[at + 1] ?? null);
}

function start(): void {
  const folder = argument("--in-dir");
  const from: Way =
    folder === null ? { kind: "descriptor", fd: Number(argument("--in") ?? 3) } : { kind: "folder", path: folder };
  const connection = connect(from, Number(argument("--out") ?? 3));
  process.removeAllListeners("warning");
  process.argv.length = 1;
  connection.send(["ready"]);
  connection.hold(true);
  let session: Session | BashSession | null = null;
  connection.listen((line) => {
    const message = JSON.parse(line) as Message;
    if (session !== null) return session.take(message);
    connection.hold(false);
    const order = message[1] as Order;
    session = order.language === "BASH" ? new BashSession(order, connection) : new Session(order, connection);
    session.run();
  });
}

start();
