import { Buffer } from "node:buffer";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listenForStreams, type StreamListener, type StreamSocket } from "../../../plugins/php/native/stream_listen.ts";
import { waitFor } from "../../support/wait.ts";

describe("a connection of a process", () => {
  let folder: string;
  let listener: StreamListener;
  let client: Socket;
  let socket: StreamSocket;
  /** What has been told of the connection, in order. */
  let told: string[];
  let taken: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "fairlead-stream-"));
    // Its own: an earlier connection may tell late.
    const own: string[] = told = [];
    taken = 0;
    let came: StreamSocket | undefined;
    listener = await listenForStreams(join(folder, "s.sock"), (one) => {
      one.on("data", (chunk) => void (taken += chunk.byteLength));
      one.on("drain", () => void own.push("drain"));
      one.on("end", () => void own.push("end"));
      one.on("close", () => void own.push("close"));
      one.on("error", () => void own.push("error"));
      came = one;
    });
    client = connect(join(folder, "s.sock"));
    client.on("error", () => {});
    socket = await waitFor(() => came, { what: "the connection" });
  });
  afterEach(() => {
    client.destroy();
    socket.destroy();
    listener.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("is sent what the system does not take at once, whole and in order", async () => {
    client.pause();
    const sent = Array.from({ length: 40 }, (_, i) => new Uint8Array(100_000 + i).fill(i));
    const flowed = sent.map((bytes) => socket.write(bytes));
    expect(flowed.at(-1)).toBe(false);
    const heard: Uint8Array[] = [];
    let length = 0;
    client.on("data", (chunk: Uint8Array) => {
      heard.push(chunk);
      length += chunk.byteLength;
    });
    client.resume();
    const total = sent.reduce((sum, { byteLength }) => sum + byteLength, 0);
    await waitFor(() => length >= total, { what: "all bytes" });
    expect(Buffer.concat(heard).equals(Buffer.concat(sent))).toBe(true);
    await waitFor(() => told.includes("drain"), { what: "a word that there is room" });
    expect(socket.write(new Uint8Array(1))).toBe(true);
  });

  test("keeps what its process has written before its end, while nobody reads", async () => {
    socket.pause();
    await new Promise<void>((done) => client.end(new Uint8Array(100_000), done));
    client.destroy();
    expect(told).toEqual([]);
    socket.resume();
    await waitFor(() => told.includes("end"), { what: "the end" });
    expect(taken).toBe(100_000);
  });

  test("tells its close once, also to who has closed it, and never within the call", async () => {
    socket.destroy();
    expect(told).toEqual([]);
    await waitFor(() => told.includes("close"), { what: "the close" });
    socket.destroy();
    await waitFor(() => client.closed || client.destroyed, { what: "the other side's close" });
    expect(told).toEqual(["close"]);
  });
});
