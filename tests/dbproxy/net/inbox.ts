import { Buffer } from "node:buffer";
import type { ByteSocket, SocketHandler } from "../../../plugins/dbproxy/net/socket.ts";

/** A handler that keeps what comes and can be waited for. */
export class Inbox implements SocketHandler {
  readonly chunks: Uint8Array[] = [];
  length = 0;
  drains = 0;
  /** The error, or null for an orderly end; undefined while open. */
  end: Error | null | undefined;
  closes = 0;
  #wake: (() => void)[] = [];

  constructor(socket: ByteSocket) {
    socket.handler = this;
  }

  onData(chunk: Uint8Array): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
    this.#changed();
  }

  onDrain(): void {
    this.drains++;
    this.#changed();
  }

  onClose(error: Error | undefined): void {
    this.closes++;
    this.end = error ?? null;
    this.#changed();
  }

  #changed(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const look of wake) look();
  }

  get bytes(): Uint8Array {
    return Buffer.concat(this.chunks);
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** Until `condition` holds; it is looked at whenever something came. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  async read(length: number): Promise<Uint8Array> {
    await this.until(() => this.length >= length || this.end !== undefined);
    return this.bytes;
  }
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
