/**
 * What the kernel is told of sockets that listen, so that two processes can share an address for a moment (Linux, socket(7)).
 *
 * @module
 */
import { readdirSync } from "node:fs";
import process from "node:process";
import { addressOf, find } from "../libc.ts";

/** A TCP socket of this process that listens. */
export interface ListeningSocket {
  readonly fd: number;
  readonly port: number;
}

/** The sockets of this process. */
export interface ListeningSockets {
  /** All that listen on TCP, whoever has opened them. */
  list(): readonly ListeningSocket[];
  /** Lets processes of the same user listen beside it, or only such as do already. */
  share(fd: number, shared: boolean): void;
  /**
   * Has all connections to the address of a socket that is shared go to one of those on it: 0 for the first, 1 for the second.
   * An index without a socket is none: then the kernel spreads them. False when it is not shared.
   */
  steer(fd: number, index: number): boolean;
  /** Keeps every socket from what is started from here. Deno's unix sockets are inherited otherwise, and stay open with the heir. */
  keepToOurselves(): void;
}

const SOL_SOCKET = 1, SO_DOMAIN = 39, SO_REUSEPORT = 15, SO_ACCEPTCONN = 30, SO_ATTACH_REUSEPORT_CBPF = 51;
const AF_INET = 2, AF_INET6 = 10;
const F_SETFD = 2, FD_CLOEXEC = 1;
/** The one instruction that returns a constant (linux/filter.h). */
const BPF_RET_K = 0x06;

/** Undefined where the C library cannot be called: not on Linux, and on Deno not without `--allow-ffi`. */
export function listeningSockets(): ListeningSockets | undefined {
  if (process.platform !== "linux") return undefined;
  const setsockopt = find("setsockopt", ["i32", "i32", "i32", "buffer", "i32"]);
  const getsockopt = find("getsockopt", ["i32", "i32", "i32", "buffer", "buffer"]);
  const getsockname = find("getsockname", ["i32", "buffer", "buffer"]);
  const fcntl = find("fcntl", ["i32", "i32", "i32"]);
  if (!setsockopt || !getsockopt || !getsockname || !fcntl) return undefined;

  const option = (fd: number, name: number): number | undefined => {
    const value = new Int32Array(1), size = new Int32Array([4]);
    return getsockopt(fd, SOL_SOCKET, name, bytesOf(value), bytesOf(size)) === 0 ? value[0] : undefined;
  };
  const portOf = (fd: number): number => {
    const name = new Uint8Array(128), size = new Int32Array([name.length]);
    return getsockname(fd, name, bytesOf(size)) === 0 ? name[2]! << 8 | name[3]! : 0;
  };
  return {
    list: () =>
      openFiles().filter((fd) => {
        const domain = option(fd, SO_DOMAIN);
        return (domain === AF_INET || domain === AF_INET6) && option(fd, SO_ACCEPTCONN) === 1;
      }).map((fd) => ({ fd, port: portOf(fd) })),
    share: (fd, shared) => void setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, bytesOf(new Int32Array([Number(shared)])), 4),
    steer: (fd, index) => setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, constantFilter(index), 16) === 0,
    keepToOurselves() {
      for (const fd of openFiles()) if (fd > 2 && option(fd, SO_DOMAIN) !== undefined) fcntl(fd, F_SETFD, FD_CLOEXEC);
    },
  };
}

/** struct sock_fprog, and behind it its only instruction. */
function constantFilter(value: number): Uint8Array {
  const bytes = new Uint8Array(24), view = new DataView(bytes.buffer);
  view.setUint16(0, 1, true);
  view.setBigUint64(8, addressOf(bytes) + 16n, true);
  view.setUint16(16, BPF_RET_K, true);
  view.setUint32(20, value, true);
  return bytes;
}

const bytesOf = (numbers: Int32Array): Uint8Array => new Uint8Array(numbers.buffer);

const openFiles = (): readonly number[] => readdirSync("/proc/self/fd").map(Number);
