import type { Exchange } from "../../core/exchange.ts";

/**
 * The client's address as scripts see it: `ofUnix` for clients of a unix socket. Of a TCP connection that was reset before the system
 * was asked it is nobody's, and never this machine's own, which scripts trust.
 */
export function remoteAddress({ client, local }: Pick<Exchange, "client" | "local">, ofUnix: string): string {
  return client.address || (local.port === 0 ? ofUnix : "0.0.0.0");
}
