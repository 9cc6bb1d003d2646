/**
 * Just enough of the native protocol for forked workers: a listener, and connections that carry one plain request.
 *
 * @module
 */
import { createServer, type Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreError } from "../../../../core/error.ts";
import type { Arrival, Door, Link, LinkEvents, ParentLinkEvents } from "../../../../plugins/php/fork/link.ts";

export interface TestDoor extends Door {
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>;
  close(): void;
}

function frame(type: number, payload: Uint8Array, number = 0): Uint8Array {
  const bytes = new Uint8Array(12 + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.length, true);
  bytes[4] = type;
  view.setUint32(8, number, true);
  bytes.set(payload, 12);
  return bytes;
}

function frames(socket: Socket, onFrame: (type: number, flags: number, payload: Uint8Array) => void): void {
  let rest = new Uint8Array(0);
  socket.on("data", (chunk: Uint8Array) => {
    const bytes = new Uint8Array(rest.length + chunk.length);
    bytes.set(rest);
    bytes.set(chunk, rest.length);
    let at = 0;
    for (;;) {
      if (bytes.length - at < 12) break;
      const view = new DataView(bytes.buffer, at);
      const length = view.getUint32(0, true);
      if (bytes.length - at < 12 + length) break;
      onFrame(bytes[at + 4]!, bytes[at + 5]!, bytes.slice(at + 12, at + 12 + length));
      at += 12 + length;
    }
    rest = bytes.slice(at);
  });
}

/** The request a test sends: the path alone. */
export function openDoor(): Promise<TestDoor> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-fork-"));
  const path = join(dir, "s");
  const awaited = new Map<string, (arrival: Arrival) => void>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => {});
    let parent: ParentLinkEvents | undefined;
    let child: ReturnType<typeof childLink> | undefined;
    frames(socket, (type, flags, payload) => {
      if (parent !== undefined) return parent.onFrame(type, payload);
      if (child !== undefined) return child.onFrame(type, flags, payload);
      const hello = new TextDecoder().decode(payload);
      const token = /"token";s:32:"([0-9a-f]{32})"/.exec(hello)?.[1] ?? "";
      const wanted = type === 1 ? awaited.get(token) : undefined;
      awaited.delete(token);
      wanted?.({
        pid: Number(/"pid";i:(\d+)/.exec(hello)?.[1]),
        role: /"role";s:\d+:"(\w+)"/.exec(hello)?.[1],
        asParent(events) {
          parent = events;
          return { write: (kind, bytes) => void socket.write(frame(kind, bytes)), destroy: () => socket.destroy() };
        },
        asChild(events) {
          child = childLink(socket, events);
          return child.link;
        },
      });
      if (parent === undefined && child === undefined) socket.destroy();
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      parent?.onClosed();
      child?.onClosed();
    });
  });
  return new Promise((ready) =>
    server.listen(path, () =>
      ready({
        path,
        open,
        expect(token, onHello) {
          awaited.set(token, onHello);
          return () => awaited.delete(token);
        },
        close() {
          server.close();
          for (const socket of open) socket.destroy();
          rmSync(dir, { recursive: true, force: true });
        },
      }))
  );
}

function childLink(socket: Socket, events: LinkEvents) {
  let sink: Parameters<Link["send"]>[1] | undefined;
  let destroyed = false;
  const link: Link = {
    send(request, to) {
      sink = to;
      socket.write(frame(2, new TextEncoder().encode(request.script.documentUri), 1));
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    cancel: () => void socket.write(frame(5, new Uint8Array(0), 1)),
    stop: () => void socket.write(frame(6, new Uint8Array(0))),
    destroy() {
      destroyed = true;
      socket.destroy();
    },
  };
  return {
    link,
    onFrame(type: number, flags: number, payload: Uint8Array) {
      if (destroyed) return;
      if (type !== 3) return events.onBroken(new CoreError("PHP_PROTOCOL", `frame of type ${type}`));
      sink?.onStdout(payload);
      if ((flags & 1) === 0) return;
      sink?.onEnd(0);
      events.onAnswered();
    },
    onClosed() {
      if (!destroyed) events.onClosed();
    },
  };
}
