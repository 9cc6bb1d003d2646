import { type Token, token } from "../plugin.ts";

/** What goes through the server now. The core provides it. */
export interface Traffic {
  /** Exchanges that have begun and not ended. */
  readonly inFlight: number;
}

/** The service of the core that tells how much it has to do. */
export const Traffic: Token<Traffic> = token("traffic@1");
