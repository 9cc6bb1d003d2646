import type { Health, Readiness } from "./contracts/health.ts";

/** The core's own {@linkcode Health}: what each part says of itself, and whether the server is draining. */
export class HealthBoard implements Health {
  readonly #checks = new Map<string, () => string | undefined>();
  /** Why the server as a whole does not want requests, such as "starting" or "draining". */
  hold: string | undefined = "starting";

  register(part: string, check: () => string | undefined): void {
    this.#checks.set(part, check);
  }

  look(): Readiness {
    const parts: Record<string, string> = { server: this.hold ?? "ready" };
    for (const [part, check] of this.#checks) {
      try {
        parts[part] = check() ?? "ready";
      } catch (error) {
        parts[part] = `check failed: ${error instanceof Error ? error.message : String(error)}`;
      }
    }
    return { ready: Object.values(parts).every((reason) => reason === "ready"), parts };
  }
}
