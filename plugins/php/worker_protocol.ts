import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { CoreError } from "../../core/error.ts";

/** What workers speak; see `docs/workers.md`. */
export type WorkerProtocol = "native" | "goridge" | "frankenphp";

/** What gives a script away, in the order of trust. */
const signs: readonly (readonly [WorkerProtocol, RegExp])[] = [
  ["frankenphp", /\bfrankenphp_handle_request\s*\(/],
  ["native", /\bFairlead\\Worker\b/],
  ["goridge", /\bSpiral\\RoadRunner\b|\bRR_MODE\b/],
];

/** Scripts of which the file itself only includes another one. */
const names: ReadonlyMap<string, WorkerProtocol> = new Map([
  ["roadrunner-worker", "goridge"],
  ["frankenphp-worker.php", "frankenphp"],
]);

/**
 * The protocol of a worker script, by its text, or by its name where that is known (Laravel Octane's).
 *
 * @throws CoreError `PHP_SCRIPT` when the script cannot be read, `PHP_PROTOCOL_UNKNOWN` when it shows no protocol or several
 */
export function detectProtocol(script: string): WorkerProtocol {
  const named = names.get(basename(script));
  if (named !== undefined) return named;
  let text: string;
  try {
    text = readFileSync(script, "utf8");
  } catch (cause) {
    throw new CoreError("PHP_SCRIPT", `Cannot read the worker script ${script}: ${(cause as Error).message}`, {
      cause,
    });
  }
  const found = signs.filter(([, sign]) => sign.test(text)).map(([protocol]) => protocol);
  if (found.length === 1) return found[0]!;
  throw new CoreError(
    "PHP_PROTOCOL_UNKNOWN",
    found.length === 0
      ? `Cannot tell what protocol ${script} speaks; set protocol to "native", "goridge" or "frankenphp"`
      : `${script} speaks of ${found.join(" and ")}; set protocol to one of them`,
  );
}
