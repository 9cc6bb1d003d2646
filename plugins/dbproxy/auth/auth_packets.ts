/**
 * The packets of the authentication phase that are neither OK nor ERR.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";

/** AuthSwitchRequest: plugin, nonce, and the NUL that mysqlnd needs. */
export function authSwitch(plugin: string, nonce: Uint8Array): Uint8Array {
  const name = new TextEncoder().encode(plugin);
  const packet = new Uint8Array(name.length + nonce.length + 3);
  packet[0] = 0xfe;
  packet.set(name, 1);
  packet.set(nonce, name.length + 2);
  return packet;
}

/** The length of a nonce of twenty bytes with the NUL that follows it. */
const withNul = 21;

/**
 * Reads an AuthSwitchRequest. A nonce of twenty bytes comes without the NUL behind it; the 32 bytes of `client_ed25519` and
 * `parsec` have none, and may end in a zero of their own (one in 256 does).
 */
export function readAuthSwitch(payload: Uint8Array): { readonly plugin: string; readonly nonce: Uint8Array } {
  const end = payload.indexOf(0, 1);
  if (end < 0) throw new CoreError("DB_PROTOCOL", "The server's request for another plugin has no end to its name");
  const plugin = new TextDecoder().decode(payload.subarray(1, end));
  const nonce = payload.slice(end + 1);
  return { plugin, nonce: nonce.length === withNul && nonce.at(-1) === 0 ? nonce.subarray(0, -1) : nonce };
}

/** AuthMoreData. */
export function moreData(data: Uint8Array): Uint8Array {
  const packet = new Uint8Array(data.length + 1);
  packet[0] = 1;
  packet.set(data, 1);
  return packet;
}

/** What caching_sha2_password says behind the byte 1. */
export const sha2Reply = { askKey: 2, fastOk: 3, full: 4 } as const;
