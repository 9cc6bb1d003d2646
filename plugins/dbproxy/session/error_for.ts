import { StepFailed } from "../backend/backend.ts";
import { ServerRefused } from "../backend/login.ts";
import type { CoreError } from "../../../core/error.ts";
import { capReached, errorOf, interrupted, shuttingDown, unknownError } from "../wire/errors.ts";
import type { ErrPacket } from "../wire/packets.ts";
import type { Stopped } from "./guard.ts";

/** Errors of having no connection, as clients know them; the text says why. */
const known: Readonly<Record<string, readonly [code: number, state: string]>> = {
  DB_POOL_TIMEOUT: [1040, "08004"],
  DB_POOL_FULL: [1040, "08004"],
  DB_UNREACHABLE: [2003, "HY000"],
  DB_CONNECT: [2003, "HY000"],
  DB_TIMEOUT: [2003, "HY000"],
  DB_TLS: [2026, "HY000"],
  DB_CLOSED: [2013, "HY000"],
  DB_LOST: [2013, "HY000"],
};

/** The error packet that tells a client of one of the proxy's errors. */
export function errorFor(error: unknown): ErrPacket {
  if (error instanceof StepFailed || error instanceof ServerRefused) return error.packet;
  const { code, message } = error as CoreError;
  if (code === "DB_POOL_DRAINING") return shuttingDown();
  const [number, state] = known[code] ?? [0, ""];
  if (number === 0) return errorOf(error as CoreError);
  return { code: number, state, message: number === 2013 ? `Lost connection to MySQL server: ${message}` : message };
}

/** The error packet for a statement that a cap let not run. */
export function stoppedBy(stopped: Stopped): ErrPacket {
  if (stopped === "killed") return interrupted();
  const { bulkhead, reason, limit, waitedMs } = stopped;
  const name = `Bulkhead ${bulkhead} of Fairlead`;
  const again = "try again in a moment, or raise max_concurrent or max_wait where it is configured";
  switch (reason) {
    case "full":
      return capReached(`${name} lets ${limit} of these statements run at a time, and they do: ${again}`);
    case "queue_full":
      return capReached(`${name} lets ${limit} of these statements run at a time, and its line is full: ${again}`);
    case "timeout":
      return capReached(
        `${name} lets ${limit} of these statements run at a time, and none ended in ${
          Math.round(waitedMs)
        } ms: ${again}`,
      );
    case "deadlock":
      return capReached(
        `${name}: those who hold it wait for what this session holds; see "within" in its configuration`,
      );
    case "draining":
      return shuttingDown();
    case "cancelled":
      return interrupted();
    case "unavailable":
      return unknownError(`${name} cannot say whether this statement may run: its store cannot be reached; try again`);
  }
}
