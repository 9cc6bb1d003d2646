import type { Socket } from "node:net";

/** What a server tells the successor that it has started. */
export interface Welcome {
  readonly ports: readonly number[];
  readonly paths: readonly string[];
  /** Parts that are not ready here either. */
  readonly unready: readonly string[];
}

/** What the successor says: why it will not be one, or that it serves. */
export type Word = { readonly failed: string } | { readonly serving: number };

/** Writes one message. */
export function say(socket: Socket, message: Welcome | Word): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** Reads messages, one a line. What is none ends the connection. */
export function hear<T>(socket: Socket, onMessage: (message: T) => void): void {
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (text + chunk).split("\n");
    text = lines.pop()!;
    try {
      for (const line of lines) onMessage(JSON.parse(line) as T);
    } catch {
      socket.destroy();
    }
  });
}
