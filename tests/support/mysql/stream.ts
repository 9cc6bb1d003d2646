/**
 * A connection as packets: frames joined and split, plain, compressed or within TLS.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { deflateSync, inflateSync } from "node:zlib";

export interface Packet {
  /** The number of its last frame. */
  readonly seq: number;
  readonly payload: Buffer;
  /** How many frames it came in. */
  readonly frames: number;
}

const FULL = 0xffffff;

export class PacketStream {
  #socket: Socket;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #waiting: { need: number; resolve: () => void; reject: (error: Error) => void } | undefined;
  #error: Error | undefined;
  #compressed = false;
  #outer: Buffer = Buffer.alloc(0);
  #outerSeq = 0;
  #close!: () => void;
  /** Settles when the peer has closed, or the connection has failed. */
  readonly closed: Promise<void> = new Promise((done) => this.#close = done);
  /** Packets read since {@linkcode PacketStream.forget}, as they came. */
  seen: Packet[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#listen(socket);
  }

  static open(place: { host: string; port: number } | { path: string }): Promise<PacketStream> {
    return new Promise((resolve, reject) => {
      const socket = connect(place);
      socket.setNoDelay(true);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new PacketStream(socket));
      });
    });
  }

  #listen(socket: Socket): void {
    socket.on("data", (chunk: Buffer) => this.#compressed ? this.#inflate(chunk) : this.#push(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The server closed the connection")));
  }

  #push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    if (this.#waiting && this.#buffered >= this.#waiting.need) {
      this.#waiting.resolve();
      this.#waiting = undefined;
    }
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#waiting?.reject(this.#error);
    this.#waiting = undefined;
    this.#close();
  }

  /** TLS from here on. Nothing that the server sent may be unread. */
  async secure(options: ConnectionOptions): Promise<void> {
    const plain = this.#socket;
    plain.removeAllListeners("data");
    plain.removeAllListeners("error");
    plain.removeAllListeners("close");
    await new Promise<void>((resolve, reject) => {
      const socket = connectTls({ ...options, socket: plain }, resolve);
      socket.once("error", reject);
      this.#socket = socket;
    });
    this.#listen(this.#socket);
  }

  /** zlib compression from here on. */
  compress(): void {
    this.#compressed = true;
  }

  #inflate(chunk: Buffer): void {
    this.#outer = Buffer.concat([this.#outer, chunk]);
    while (this.#outer.length >= 7) {
      const length = this.#outer.readUIntLE(0, 3);
      if (this.#outer.length < 7 + length) return;
      this.#outerSeq = (this.#outer[3]! + 1) & 255;
      const body = this.#outer.subarray(7, 7 + length);
      const plain = this.#outer.readUIntLE(4, 3) === 0 ? body : inflateSync(body);
      this.#outer = this.#outer.subarray(7 + length);
      this.#push(plain);
    }
  }

  /** Bytes as they are: for packets that no client should send. */
  write(bytes: Buffer): void {
    if (!this.#compressed) {
      this.#socket.write(bytes);
      return;
    }
    for (let at = 0; at < bytes.length; at += FULL) {
      const plain = bytes.subarray(at, at + FULL);
      const small = plain.length < 50;
      const body = small ? plain : deflateSync(plain);
      const header = Buffer.alloc(7);
      header.writeUIntLE(body.length, 0, 3);
      header[3] = this.#outerSeq++ & 255;
      header.writeUIntLE(small ? 0 : plain.length, 4, 3);
      this.#socket.write(Buffer.concat([header, body]));
    }
  }

  /** One packet, in as many frames as it needs. */
  send(payload: Buffer, seq = 0): void {
    if (seq === 0) this.#outerSeq = 0;
    for (let at = 0;; at += FULL) {
      const part = payload.subarray(at, at + FULL);
      const header = Buffer.alloc(4);
      header.writeUIntLE(part.length, 0, 3);
      header[3] = seq++ & 255;
      this.write(Buffer.concat([header, part]));
      if (part.length < FULL) return;
    }
  }

  async #bytes(length: number): Promise<Buffer> {
    if (this.#buffered < length) {
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve, reject) => this.#waiting = { need: length, resolve, reject });
    }
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [all.subarray(length)];
    this.#buffered -= length;
    return all.subarray(0, length);
  }

  /** The next packet, joined from its frames. */
  async read(): Promise<Packet> {
    const parts: Buffer[] = [];
    for (;;) {
      const header = await this.#bytes(4);
      const length = header.readUIntLE(0, 3);
      const seq = header[3]!;
      parts.push(await this.#bytes(length));
      if (length < FULL) {
        const packet = { seq, payload: parts.length === 1 ? parts[0]! : Buffer.concat(parts), frames: parts.length };
        this.seen.push(packet);
        return packet;
      }
    }
  }

  /** Whether bytes have come that nobody has read. */
  get unread(): number {
    return this.#buffered;
  }

  forget(): void {
    this.seen = [];
  }

  /** Stops and starts reading from the system. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** FIN. */
  end(): void {
    this.#socket.end();
  }

  /** Closes at once, as a killed process does. */
  destroy(): void {
    this.#socket.destroy();
  }
}
