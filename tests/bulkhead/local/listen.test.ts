import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../../../plugins/bulkhead/local/listen.ts";
import { waitFor } from "../../support/wait.ts";

test("what the system does not take at once is kept as it was, whatever becomes of the bytes", async () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-listen-"));
  const path = join(dir, "l.sock");
  let written = 0;
  const listening = await listen({ path, mode: 0o600, group: undefined }, (peer) => ({
    onData() {
      const bytes = new Uint8Array(1000);
      for (let behind = 0; behind < 20;) {
        peer.write(bytes.fill(written++ % 251));
        if (peer.pending > 0) behind++;
      }
      bytes.fill(0xff);
    },
    onClose() {},
  }));
  const chunks: Uint8Array[] = [];
  const socket = connect(path);
  try {
    socket.write("go");
    await waitFor(() => written > 0, { what: "the question", every: 1, timeout: 4000 });
    socket.on("data", (chunk: Uint8Array) => chunks.push(chunk.slice()));
    const length = () => chunks.reduce((sum, one) => sum + one.length, 0);
    await waitFor(() => length() >= written * 1000, { what: "all of it", every: 1, timeout: 4000 });
    const all = new Uint8Array(chunks.flatMap((chunk) => [...chunk]));
    const wrong = all.findIndex((byte, at) => byte !== Math.floor(at / 1000) % 251);
    expect([all.length, wrong]).toEqual([written * 1000, -1]);
  } finally {
    socket.destroy();
    listening.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

test("who is to go and does not close its side is cut, with or without having read", async () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-listen-"));
  const path = join(dir, "l.sock");
  let closed = 0;
  const listening = await listen({ path, mode: 0o600, group: undefined }, (peer) => ({
    onData([unread]) {
      if (unread === 1) { while (peer.pending === 0) peer.write(new Uint8Array(100_000)); }
      peer.end();
    },
    onClose: () => void closed++,
  }));
  const sockets = [0, 1].map((unread) => {
    const socket = connect({ path, allowHalfOpen: true });
    if (unread === 0) socket.resume();
    else socket.pause();
    socket.on("error", () => {});
    socket.write(Uint8Array.of(unread));
    return socket;
  });
  try {
    await waitFor(() => closed === 2, { what: "both to be cut", every: 1, timeout: 4000 });
  } finally {
    for (const socket of sockets) socket.destroy();
    listening.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
