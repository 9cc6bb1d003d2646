/**
 * Just enough of the protocol to log in, as a client and as a server, with nothing of the proxy's own codecs.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { ClientDialogue, ServerDialogue } from "../../../plugins/dbproxy/auth/dialogue.ts";
import { clientDialogue, type ClientDialogueOptions } from "../../../plugins/dbproxy/auth/client_dialogue.ts";
import { newNonce } from "../../../plugins/dbproxy/auth/nonce.ts";
import { connect } from "../../../plugins/dbproxy/net/connect.ts";
import type { ByteSocket, Place } from "../../../plugins/dbproxy/net/socket.ts";
import {
  startTlsClient,
  startTlsServer,
  type TlsClientOptions,
  type TlsServerContext,
} from "../../../plugins/dbproxy/net/tls.ts";

const sslBit = 0x800;
/** LONG_PASSWORD, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH. */
const capabilities = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000;

/** Reads and writes whole packets. */
export class Packets {
  readonly socket: ByteSocket;
  #buffer: Buffer = Buffer.alloc(0);
  #closed = false;
  #wake: () => void = () => {};
  sequence = 0;

  constructor(socket: ByteSocket, sequence = 0) {
    this.socket = socket;
    this.sequence = sequence;
    socket.handler = {
      onData: (chunk) => {
        this.#buffer = Buffer.concat([this.#buffer, chunk]);
        this.#wake();
      },
      onDrain() {},
      onClose: () => {
        this.#closed = true;
        this.#wake();
      },
    };
  }

  /** The next packet's payload; throws when the peer has closed. */
  async read(): Promise<Buffer> {
    for (;;) {
      if (this.#buffer.length >= 4) {
        const length = this.#buffer.readUIntLE(0, 3);
        if (this.#buffer.length >= 4 + length) {
          this.sequence = (this.#buffer[3]! + 1) & 255;
          const payload = this.#buffer.subarray(4, 4 + length);
          this.#buffer = this.#buffer.subarray(4 + length);
          return payload;
        }
      }
      if (this.#closed) throw new Error("the peer closed");
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /** What was read past the last packet. */
  rest(): Uint8Array {
    const rest = this.#buffer;
    this.#buffer = Buffer.alloc(0);
    return Uint8Array.from(rest);
  }

  write(payload: Uint8Array): void {
    const packet = Buffer.alloc(4 + payload.length);
    packet.writeUIntLE(payload.length, 0, 3);
    packet[3] = this.sequence;
    packet.set(payload, 4);
    this.sequence = (this.sequence + 1) & 255;
    this.socket.write(packet);
  }
}

export interface LoginOptions
  extends Pick<ClientDialogueOptions, "user" | "password" | "serverKey" | "allowKeyRetrieval"> {
  readonly tls?: Omit<TlsClientOptions, "timeoutMs">;
}

/** What a server said to a login, and how it got there: first bytes of its packets, as hexadecimal. */
export interface LoginResult {
  readonly accepted: boolean;
  /** Code and text of the refusal. */
  readonly error: string;
  /** Such as `fe`, `01 03`, `01 04`, `00`. */
  readonly steps: readonly string[];
}

/** Logs in to a server with a {@linkcode clientDialogue}. */
export async function logIn(place: Place, options: LoginOptions): Promise<LoginResult> {
  let packets = new Packets(await connect(place, { timeoutMs: 5000 }));
  try {
    const greeting = await packets.read();
    const name = greeting.indexOf(0, 1);
    const at = name + 1;
    const second = greeting.subarray(at + 31);
    const nonce = Uint8Array.from([...greeting.subarray(at + 4, at + 12), ...second.subarray(0, 12)]);
    const plugin = second.subarray(13, second.indexOf(0, 13)).toString();
    const head = Buffer.alloc(32);
    head.writeUInt32LE(capabilities | (options.tls ? sslBit : 0), 0);
    head.writeUInt32LE(1 << 24, 4);
    head[8] = 45;
    if (options.tls) {
      packets.write(head);
      const { sequence, socket } = packets;
      packets = new Packets(await startTlsClient(socket, { ...options.tls, timeoutMs: 5000 }), sequence);
    }
    const { secure, encrypted } = packets.socket;
    const dialogue: ClientDialogue = clientDialogue({ ...options, plugin, nonce, secure, encrypted });
    const { plugin: used, auth } = dialogue.first();
    packets.write(Buffer.concat([
      head,
      Buffer.from(`${options.user}\0`),
      Uint8Array.of(auth.length),
      auth,
      Buffer.from(`${used}\0`),
    ]));
    const steps: string[] = [];
    for (;;) {
      const payload = await packets.read();
      steps.push(payload.subarray(0, payload[0] === 1 && payload.length === 2 ? 2 : 1).toString("hex"));
      if (payload[0] === 0) return { accepted: true, error: "", steps };
      if (payload[0] === 0xff) {
        return { accepted: false, error: `${payload.readUInt16LE(1)} ${payload.subarray(9).toString()}`, steps };
      }
      const answer = dialogue.next(payload);
      if (answer !== undefined) packets.write(answer);
    }
  } finally {
    packets.socket.destroy();
  }
}

export interface DoorOptions {
  readonly plugin: string;
  readonly tls?: TlsServerContext;
  dialogue(login: { readonly user: string; readonly nonce: Uint8Array; readonly secure: boolean }): ServerDialogue;
  /** Told of each login that came to a verdict. */
  onVerdict?(verdict: { readonly kind: string; readonly plugin: string; readonly encrypted: boolean }): void;
}

/** Serves one connection: a greeting, a login by the dialogue, then OK to every command until the client quits. */
export async function serveDoor(socket: ByteSocket, options: DoorOptions): Promise<void> {
  const nonce = newNonce();
  let packets = new Packets(socket);
  const offered = capabilities | 0x8 | 0x100000 | 0x200000 | 0x10000 | 0x20000 | (options.tls ? sslBit : 0);
  const middle = Buffer.alloc(19);
  middle.writeUInt16LE(offered & 0xffff, 1);
  middle[3] = 45;
  middle.writeUInt16LE(2, 4);
  middle.writeUInt16LE(offered >>> 16, 6);
  middle[8] = 21;
  packets.write(Buffer.concat([
    Buffer.from("\x0a8.0.36\0"),
    Uint8Array.of(7, 0, 0, 0),
    nonce.subarray(0, 8),
    middle,
    nonce.subarray(8),
    Buffer.from(`\0${options.plugin}\0`),
  ]));
  try {
    let login = await packets.read();
    if (options.tls && login.length === 32) {
      const { sequence } = packets;
      packets = new Packets(await startTlsServer(socket, packets.rest(), options.tls), sequence);
      login = await packets.read();
    }
    const flags = login.readUInt32LE(0);
    const userEnd = login.indexOf(0, 32);
    const length = login[userEnd + 1]!;
    const auth = Uint8Array.from(login.subarray(userEnd + 2, userEnd + 2 + length));
    let at = userEnd + 2 + length;
    if (flags & 0x8) at = login.indexOf(0, at) + 1;
    const plugin = flags & 0x80000 ? login.subarray(at, login.indexOf(0, at)).toString() : "";
    const { secure, encrypted } = packets.socket;
    const dialogue = options.dialogue({ user: login.subarray(32, userEnd).toString(), nonce, secure });
    for (let step = dialogue.start({ plugin, auth });; step = dialogue.next(await packets.read())) {
      for (const payload of step.send) packets.write(payload);
      if (step.kind === "wait") continue;
      options.onVerdict?.({ kind: step.kind, plugin, encrypted });
      if (step.kind === "refused") {
        packets.write(Buffer.from("\xff\x15\x04#28000Access denied", "latin1"));
        packets.socket.end();
        return;
      }
      break;
    }
    const ok = Buffer.from([0, 0, 0, 2, 0, 0, 0]);
    packets.write(ok);
    for (;;) {
      packets.sequence = 0;
      if ((await packets.read())[0] === 1) return packets.socket.end();
      packets.write(ok);
    }
  } catch {
    packets.socket.destroy();
  }
}
