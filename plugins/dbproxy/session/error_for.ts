import { StepFailed } from "../backend/backend.ts";
import { ServerRefused } from "../backend/login.ts";
import type { CoreError } from "../../../core/error.ts";
import { errorOf, shuttingDown } from "../wire/errors.ts";
import type { ErrPacket } from "../wire/packets.ts";

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
