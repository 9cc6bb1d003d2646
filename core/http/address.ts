import { CoreError } from "../error.ts";

/** An address to listen on. */
export type Address =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/**
 * Reads `127.0.0.1:8080`, `[::1]:8080`, `:8080` (every address) or `unix:/run/fairlead.sock`.
 *
 * @throws CONFIG_INVALID when the text is none of these
 */
export function parseAddress(text: string): Address {
  if (text.startsWith("unix:/")) return { kind: "unix", path: text.slice(5) };
  const m = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:/[\]]*)):(\d{1,5})$/.exec(text);
  if (m === null || Number(m[3]) > 65_535) {
    throw new CoreError(
      "CONFIG_INVALID",
      `expected HOST:PORT, [IPV6]:PORT, :PORT or unix:/PATH, got ${JSON.stringify(text)}`,
    );
  }
  return { kind: "tcp", host: m[1] ?? (m[2] || "::"), port: Number(m[3]) };
}

/** The text that {@linkcode parseAddress} reads as this address. */
export function showAddress(at: Address): string {
  if (at.kind === "unix") return `unix:${at.path}`;
  return at.host.includes(":") ? `[${at.host}]:${at.port}` : `${at.host}:${at.port}`;
}

/**
 * What stands for the address of a peer that the system does not tell: none on a unix socket, where `unix` means it. On TCP the
 * client has gone already, and what trusts those of a unix socket must not trust this one.
 */
export function unseenPeer(at: Address): string {
  return at.kind === "unix" ? "" : "unknown";
}
