import type { Exchange } from "../../core/exchange.ts";

/** The variable in which scripts find what to send, and the header to send it in. */
export const selfVariable = "FAIRLEAD_SELF";
const selfHeader = "x-fairlead-self";

/**
 * Recognises requests that the application sends to itself, by a word that only its scripts know. The word alone is not enough:
 * who has read it off a page of phpinfo() still has to be on this machine.
 *
 * @example
 * ```ts
 * const self = new SelfCalls(crypto.randomUUID());
 * scripts.add("admission", { env: { [selfVariable]: self.word } });
 * self.made(x); // whether `x` came from such a script
 * ```
 */
export class SelfCalls {
  readonly word: string;

  constructor(word: string) {
    this.word = word;
  }

  made({ headers, peer, local }: Pick<Exchange, "headers" | "peer" | "local">): boolean {
    const said = headers.get(selfHeader);
    return said !== null && same(said, this.word) && here(peer.address, local.address);
  }
}

/** A peer on a unix socket has no address. One that has ours is on this machine whatever that address is. */
function here(peer: string, local: string): boolean {
  return peer === "" || peer === local || /^(?:::ffff:)?127\.|^::1$/.test(peer);
}

/** Compares in a time that does not tell how much was right. */
function same(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let differ = 0;
  for (let i = 0; i < a.length; i++) differ |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return differ === 0;
}
