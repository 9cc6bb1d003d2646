import { type Token, token } from "../plugin.ts";

/** Whom `server.trusted_proxies` names. The core provides it. */
export interface Peers {
  /** Whether it names nobody. */
  readonly empty: boolean;
  /** Whether it names this address; the empty one is that of every peer on a unix socket. */
  trusts(address: string): boolean;
}

/** The service of the core that tells which peers are trusted proxies. */
export const Peers: Token<Peers> = token("peers@1");
