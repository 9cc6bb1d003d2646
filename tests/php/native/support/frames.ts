/** Frames as PHP writes them, and sockets without a kernel. */
import { Buffer } from "node:buffer";
import { FakeSocket } from "../../fastcgi/support.ts";

export { cut, join, text } from "../../fastcgi/support.ts";

/** A frame, written independently of the codec under test. */
export function frame(type: number, flags: number, number: number, payload: Uint8Array | string = ""): Uint8Array {
  const body = Buffer.from(payload as string);
  const head = Buffer.alloc(12);
  head.writeUInt32LE(body.length, 0);
  head[4] = type;
  head[5] = flags;
  head.writeUInt32LE(number, 8);
  return new Uint8Array(Buffer.concat([head, body]));
}

/** The payload of a hello. */
export function hello(token: string, more: Readonly<Record<string, string | number>> = {}): string {
  const fields = { v: 1, token, pid: 4242, php: "8.2.36", sapi: "cli", ...more };
  const entries = Object.entries(fields).map(([key, value]) =>
    `s:${key.length}:"${key}";` + (typeof value === "number" ? `i:${value};` : `s:${value.length}:"${value}";`)
  );
  return `a:${entries.length}:{${entries.join("")}}`;
}

export class Socket extends FakeSocket {
  readonly #gone = new Set<unknown>();

  off(event: string, listener: (...values: never[]) => void): void {
    this.#gone.add(listener);
    void event;
  }

  override on(event: string, listener: (...values: never[]) => void): void {
    super.on(event, ((...values: never[]) => void (this.#gone.has(listener) || listener(...values))) as never);
  }

  /** The frames written so far: type, number and payload. */
  get frames(): { readonly type: number; readonly number: number; readonly payload: Buffer }[] {
    const all = Buffer.from(this.bytes);
    const found = [];
    for (let at = 0; at < all.length;) {
      const end = at + 12 + all.readUInt32LE(at);
      found.push({ type: all[at + 4]!, number: all.readUInt32LE(at + 8), payload: all.subarray(at + 12, end) });
      at = end;
    }
    return found;
  }
}
