/** What may go wrong on the way to the vendor, said by a test before it happens. */
export interface Fault {
  readonly method: "GET" | "POST" | "DELETE";
  /** Of the path behind `/api`. */
  readonly path: RegExp;
  /** How many requests it meets. */
  readonly times: number;
  readonly status: number;
  /** Sent as the header, where given. */
  readonly retryAfter?: number;
  /** The request is obeyed, and only its answer is lost. */
  readonly afterwards?: boolean;
}

/** How streams of logs go wrong. */
export interface LogFault {
  /** Of both streams together, since the request for it. */
  readonly afterBytes: number;
  readonly times: number;
  /** `clean`: as if the log were complete; `broken`: the connection is reset; `error`: in the vendor's own words. */
  readonly end: "clean" | "broken" | "error";
}

export class Faults {
  private requests: { fault: Fault; left: number }[] = [];
  private logs: { fault: LogFault; left: number }[] = [];
  /** Files arrive in two halves, so much apart. */
  slowWritesMs = 0;
  /** When a log is asked for again, what was said before is said otherwise. */
  forgetfulLogs = false;

  add(fault: Fault): void {
    this.requests.push({ fault, left: fault.times });
  }

  cutLogs(fault: LogFault): void {
    this.logs.push({ fault, left: fault.times });
  }

  clear(): void {
    this.requests = [];
    this.logs = [];
    this.slowWritesMs = 0;
    this.forgetfulLogs = false;
  }

  forRequest(method: string, path: string): Fault | null {
    return take(this.requests, (fault) => fault.method === method && fault.path.test(path));
  }

  forLog(): LogFault | null {
    return take(this.logs, () => true);
  }
}

function take<T>(list: { fault: T; left: number }[], fits: (fault: T) => boolean): T | null {
  const found = list.find(({ fault, left }) => left > 0 && fits(fault));
  if (found === undefined) return null;
  found.left--;
  return found.fault;
}
