/**
 * The smallest thing with a relay in it: it stands before a server, logs its clients in with DEPRECATE_EOF and SESSION_TRACK
 * besides what they ask for, and relays the replies.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { ReplyRelay } from "../../../plugins/dbproxy/reply/relay.ts";
import { CAP } from "../../../plugins/dbproxy/wire/capabilities.ts";

export interface Upgrade {
  readonly host: "127.0.0.1";
  readonly port: number;
  /** What went wrong within. */
  readonly broken: string[];
  stop(): Promise<void>;
}

/** Splits a stream into packets, each with its frames' headers. One frame each is enough here. */
function packets(each: (packet: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUIntLE(0, 3)) {
      const size = 4 + rest.readUIntLE(0, 3);
      const packet = Buffer.from(rest.subarray(0, size));
      rest = rest.subarray(size);
      each(packet);
    }
  };
}

/** `cut` cuts each chunk of the server into pieces of that many bytes. */
export async function startUpgrade(port: number, cut: number = Infinity): Promise<Upgrade> {
  const broken: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const backend = connect({ host: "127.0.0.1", port });
    for (const [socket, other] of [[client, backend], [backend, client]] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => other.destroy());
    }
    let phase: "greeting" | "login" | "commands" = "greeting";
    let infile = false;
    const kind = { deprecateEof: false, sessionTrack: false };
    const relay = new ReplyRelay(kind, (bytes) => void client.write(bytes), {
      onOk() {},
      onErr() {},
      onPrepared() {},
      onInfile: () => infile = true,
      onEnd() {},
      onBroken: (error) => {
        broken.push(error.message);
        client.destroy();
      },
    });
    const auth = packets((packet) => {
      if (phase === "greeting") phase = "login";
      else if (packet[4] === 0) phase = "commands";
      client.write(packet);
    });
    backend.on("data", (chunk: Buffer) => {
      if (phase !== "commands") auth(chunk);
      else {
        for (let at = 0; at < chunk.length;) {
          const piece = Uint8Array.from(chunk.subarray(at, at + cut));
          const used = relay.push(piece);
          if (used < piece.length) broken.push("bytes behind a reply");
          at += piece.length;
        }
      }
    });
    let first = true;
    client.on(
      "data",
      packets((packet) => {
        if (first) {
          first = false;
          const flags = packet.readUInt32LE(4);
          kind.deprecateEof = (flags & CAP.DEPRECATE_EOF) !== 0;
          kind.sessionTrack = (flags & CAP.SESSION_TRACK) !== 0;
          packet.writeUInt32LE((flags | CAP.DEPRECATE_EOF | CAP.SESSION_TRACK) >>> 0, 4);
        } else if (infile) {
          packet[3]! -= relay.shift;
          if (packet.length === 4) {
            infile = false;
            relay.infileSent((packet[3]! + 1) & 0xff);
          }
        } else if (phase === "commands") {
          relay.begin(packet[4]!, { allowInfile: true });
        }
        backend.write(packet);
      }),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    broken,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      return Promise.resolve();
    },
  };
}
