import type { ResponseHead } from "./fastcgi/head.ts";
import type { FcgiHandler } from "./fastcgi/handler.ts";

/**
 * Receives one answer. Protocols that carry PHP's output as it is (FastCGI, our own) call `onStdout`, head and body in one;
 * those that know the head call `onHead` once, then `onBody`. Calls are synchronous and some may come before `send` returns;
 * bytes are views that are not reused.
 */
export interface ReplySink extends FcgiHandler {
  /** Status and headers of the final response. */
  onHead(head: ResponseHead): void;
  onBody(bytes: Uint8Array): void;
  /** An informational response (103) before the final one. */
  onInformational(head: ResponseHead): void;
}
