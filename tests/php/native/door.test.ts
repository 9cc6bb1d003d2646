import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { connect, type Socket as NodeSocket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join as joinPath } from "node:path";
import process from "node:process";
import type { Arrival } from "../../../plugins/php/native/arrival.ts";
import { openDoor, workerFolders } from "../../../plugins/php/native/door.ts";
import { removeStaleFolders } from "../../../plugins/php/private_folder.ts";
import { Hall } from "../../../plugins/php/native/hall.ts";
import { requestEncoder } from "../../../plugins/php/native/request.ts";
import { waitFor } from "../../support/wait.ts";
import { VirtualClock } from "../fastcgi/support.ts";
import { cut, frame, hello, join, Socket } from "./support/frames.ts";

const token = "0123456789abcdef0123456789abcdef";

describe("the hall before the door", () => {
  class Hosts {
    readonly clock = new VirtualClock();
    readonly hall = new Hall(requestEncoder("fairlead/1"), this.clock, 5000);
    readonly arrivals: Arrival[] = [];
    refused: string[] = [];

    expect(wanted = token): () => void {
      return this.hall.expect(wanted, {
        onHello: (arrival) => {
          this.arrivals.push(arrival);
          if (arrival.role === undefined) arrival.asChild({ onBroken() {}, onLine() {}, onClosed() {} });
        },
        onRefuse: (error) => void this.refused.push(error.code),
      });
    }

    enter(): Socket {
      const socket = new Socket();
      this.hall.enter(socket as never);
      return socket;
    }
  }

  test("lets in who says the awaited token, however the hello is cut", () => {
    for (const more of [{}, { parent: 77 }]) {
      const bytes = frame(1, 0, 0, hello(token, more));
      for (
        const cuts of [
          [],
          [0.01],
          [0.5],
          [0.1, 0.2, 0.99],
          bytes.length < 0 ? [] : [...bytes.keys()].map((i) => i / bytes.length),
        ]
      ) {
        const hosts = new Hosts();
        hosts.expect();
        const socket = hosts.enter();
        for (const chunk of cut(bytes, cuts)) socket.emit("data", chunk);
        expect(hosts.arrivals.map(({ hello }) => hello)).toEqual([
          { version: 1, token, pid: 4242, php: "8.2.36", sapi: "cli", role: undefined, parent: undefined, ...more },
        ]);
        expect(socket.destroyed).toBe(false);
        expect(hosts.clock.pending).toBe(0);
      }
    }
  });

  test("keeps what comes behind the hello for whoever takes the connection", async () => {
    const hosts = new Hosts();
    const logged: string[] = [];
    hosts.hall.expect(token, {
      onHello: (arrival) =>
        void arrival.asChild({ onBroken() {}, onClosed() {}, onLine: (text) => void logged.push(text) }),
      onRefuse: undefined,
    });
    const log = frame(9, 0, 0, "\x01booted");
    const socket = hosts.enter();
    socket.emit("data", join([frame(1, 0, 0, hello(token)), log.subarray(0, 5)]));
    await Promise.resolve();
    socket.emit("data", log.subarray(5));
    expect(logged).toEqual(["booted"]);
  });

  test("turns away who says anything else", () => {
    const refused: readonly (readonly [string, Uint8Array])[] = [
      ["an unknown token", frame(1, 0, 0, hello("f".repeat(32)))],
      ["another frame", frame(3, 0, 0, hello(token))],
      ["a hello in a request", frame(1, 0, 1, hello(token))],
      ["a hello of 5 KB", frame(1, 0, 0, hello(token, { x: "x".repeat(5000) }))],
      ["no array", frame(1, 0, 0, "N;")],
      ["no pid", frame(1, 0, 0, hello(token).replace("pid", "dip"))],
      ["a pid of 0", frame(1, 0, 0, hello(token, { pid: 0 }))],
      ["no text", frame(1, 0, 0, hello(token, { sapi: 5 }))],
      ["an object", frame(1, 0, 0, 'O:8:"stdClass":0:{}')],
      ["another protocol", new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n")],
      ["whom nobody takes", frame(1, 0, 0, hello(token, { role: "parent" }))],
    ];
    for (const [who, bytes] of refused) {
      const hosts = new Hosts();
      hosts.expect();
      const socket = hosts.enter();
      socket.emit("data", bytes);
      expect([who, socket.destroyed]).toEqual([who, true]);
      expect(hosts.clock.pending).toBe(0);
    }
  });

  test("takes each token once, and none that is awaited no more", () => {
    const hosts = new Hosts();
    hosts.expect();
    for (const destroyed of [false, true]) {
      const socket = hosts.enter();
      socket.emit("data", frame(1, 0, 0, hello(token)));
      expect(socket.destroyed).toBe(destroyed);
    }
    hosts.expect()();
    const late = hosts.enter();
    late.emit("data", frame(1, 0, 0, hello(token)));
    expect(late.destroyed).toBe(true);
    expect(hosts.arrivals.length).toBe(1);
  });

  test("says why a library of another version cannot be used", () => {
    const hosts = new Hosts();
    hosts.expect();
    hosts.enter().emit("data", frame(1, 0, 0, hello(token, { v: 2 })));
    expect(hosts.refused).toEqual(["PHP_WORKER_VERSION"]);
  });

  test("does not wait for ever, nor for many", () => {
    const hosts = new Hosts();
    const silent = hosts.enter();
    silent.emit("data", frame(1, 0, 0, hello(token)).subarray(0, 20));
    hosts.clock.advance(4999);
    expect(silent.destroyed).toBe(false);
    hosts.clock.advance(1);
    expect(silent.destroyed).toBe(true);

    const crowd = Array.from({ length: 257 }, () => hosts.enter());
    expect(crowd.filter((socket) => socket.destroyed).length).toBe(1);
    crowd[0]!.emit("close");
    expect(hosts.enter().destroyed).toBe(false);
  });

  test("serves a parent, until it says what no parent says", () => {
    const hosts = new Hosts();
    const told: string[] = [];
    hosts.hall.expect(token, {
      onHello: (arrival) =>
        void arrival.asParent({
          onFrame: (type, payload) => void told.push(`${type} ${new TextDecoder().decode(payload)}`),
          onClosed: () => void told.push("closed"),
        }).write(8, new TextEncoder().encode(token)),
      onRefuse: undefined,
    });
    const socket = hosts.enter();
    socket.emit("data", frame(1, 0, 0, hello(token, { role: "parent" })));
    expect(socket.frames.map((one) => [one.type, one.payload.toString()])).toEqual([[8, token]]);
    socket.emit("data", frame(10, 0, 0, "a"));
    socket.emit("data", join([frame(9, 0, 0, "b"), frame(3, 0, 0), frame(9, 0, 0, "c")]));
    socket.emit("close");
    expect(told).toEqual(["10 a", "9 b", "closed"]);
    expect(socket.destroyed).toBe(true);
  });
});

describe("a door", () => {
  const dirs: string[] = [];
  afterEach(() => {
    for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
  });
  const folder = () => {
    const dir = mkdtempSync(joinPath(tmpdir(), "fairlead-door-"));
    dirs.push(dir);
    return dir;
  };
  const root = process.getuid?.() === 0;

  test("is open to its user only, and leaves nothing behind", async () => {
    const tempDir = folder();
    const user = root ? { uid: 65534, gid: 65534 } : undefined;
    const door = await openDoor({ software: "fairlead/1", tempDir, user });
    const socket = statSync(door.path);
    expect(socket.mode & 0o777).toBe(0o600);
    expect(socket.uid).toBe(root ? 65534 : process.getuid!());
    expect(statSync(dirname(door.path)).mode & 0o777).toBe(root ? 0o711 : 0o700);
    door.close();
    expect(readdirSync(tempDir)).toEqual([]);
  });

  test("hands a connection to whoever awaits it", async () => {
    const door = await openDoor({ software: "fairlead/1", tempDir: folder() });
    const arrived: Arrival[] = [];
    door.expect(token, (arrival) => {
      arrived.push(arrival);
      arrival.asChild({ onBroken() {}, onLine() {}, onClosed() {} });
    });
    const open = (bytes: Uint8Array): { readonly socket: NodeSocket; closed: boolean } => {
      const caller = { socket: connect(door.path), closed: false };
      caller.socket.on("error", () => {});
      caller.socket.on("close", () => caller.closed = true);
      caller.socket.on("data", () => {});
      caller.socket.write(bytes);
      return caller;
    };
    const stranger = open(frame(1, 0, 0, hello("f".repeat(32))));
    await waitFor(() => stranger.closed, { what: "the stranger to be turned away" });
    const friend = open(frame(1, 0, 0, hello(token)));
    await waitFor(() => arrived.length === 1, { what: "the hello to be read" });
    // Those inside stay when it closes, those before it do not.
    const waiting = open(new Uint8Array([1]));
    await new Promise<void>((done) => waiting.socket.once("connect", () => done()));
    await new Promise<void>((done) => setTimeout(done, 0));
    door.close();
    await waitFor(() => waiting.closed, { what: "the silent connection to be closed" });
    expect(friend.closed).toBe(false);
    friend.socket.destroy();
  });

  test("cannot be where no socket can be", async () => {
    const code = (tempDir: string) =>
      openDoor({ software: "fairlead/1", tempDir }).then(() => "", (error) => error.code);
    expect(await code(joinPath(folder(), "not/there"))).toBe("PHP_START");
    const deep = joinPath(folder(), "x".repeat(90));
    mkdirSync(deep);
    expect(await code(deep)).toBe("PHP_START");
    expect(readdirSync(deep)).toEqual([]);
  });

  test("clears away what killed servers have left", async () => {
    const dir = folder();
    const old = new Date(Date.now() - 120_000);
    const make = (name: string, when: Date) => {
      mkdirSync(joinPath(dir, name));
      utimesSync(joinPath(dir, name), when, when);
      return joinPath(dir, name);
    };
    const [gone, fresh, ours, other] = [
      make("fairlead-workers-99999999-abcdef", old),
      make("fairlead-workers-99999998-abcdef", new Date()),
      make(`fairlead-workers-${process.pid}-abcdef`, old),
      make("fairlead-fpm-99999999-abcdef", old),
    ];
    await removeStaleFolders(workerFolders, dir);
    expect([gone, fresh, ours, other].map((path) => existsSync(path!))).toEqual([false, true, true, true]);
  });
});
