import { authSwitch, moreData, sha2Reply } from "./auth_packets.ts";
import type { ServerDialogue, ServerStep } from "./dialogue.ts";
import { newNonce } from "./nonce.ts";

const accepted: ServerStep = { kind: "accepted", send: [] };
const acceptedSha2: ServerStep = { kind: "accepted", send: [moreData(Uint8Array.of(sha2Reply.fastOk))] };

/** Plugins whose client has said all it has to say with its first answer. */
const oneAnswer = new Set(["", "mysql_native_password", "mysql_clear_password", "client_ed25519"]);

/**
 * The server's side of a login that is accepted whatever the client knows, in words its plugin takes for a success: a
 * client of caching_sha2_password wants a verdict before the OK.
 */
export function trustDialogue(): ServerDialogue {
  return { start: ({ plugin, auth }) => trust(plugin, auth), next: (payload) => trust("caching_sha2_password", payload) };
}

function trust(plugin: string, auth: Uint8Array): ServerStep {
  if (oneAnswer.has(plugin)) return accepted;
  if (plugin !== "caching_sha2_password") {
    return { kind: "wait", send: [authSwitch("caching_sha2_password", newNonce())] };
  }
  // With an empty password the client expects no verdict.
  return auth.length === 0 || (auth.length === 1 && auth[0] === 0) ? accepted : acceptedSha2;
}
