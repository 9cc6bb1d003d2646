/**
 * The calls of the C library that neither runtime has.
 *
 * @module
 */
import process from "node:process";

/** The parts of the runtimes' foreign function interfaces that are used here. */
interface DenoLike {
  dlopen(library: string, symbols: unknown): { readonly symbols: { waitpid(...args: unknown[]): number } };
}
interface BunFfi {
  dlopen(library: string, symbols: unknown): { readonly symbols: { waitpid(...args: unknown[]): number } };
}

/** glibc, musl. */
const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
/** WNOHANG of waitpid(2) on Linux. */
const noHang = 1;

/** waitpid(2) with WNOHANG: collects a child that has ended. Undefined where the C library cannot be called. */
export async function waitWithoutBlocking(): Promise<((pid: number) => void) | undefined> {
  const { Deno } = globalThis as { Deno?: DenoLike };
  const bun = "bun:ffi";
  const ffi = Deno === undefined ? await import(bun).catch(() => undefined) as BunFfi | undefined : undefined;
  for (const library of libraries) {
    try {
      const { symbols } = Deno === undefined
        ? ffi!.dlopen(library, { waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" } })
        : Deno.dlopen(library, { waitpid: { parameters: ["i32", "pointer", "i32"], result: "i32" } });
      return (pid) => void symbols.waitpid(pid, null, noHang);
    } catch {
      // The next one.
    }
  }
  return undefined;
}

/**
 * The process that connected to our unix socket, as the kernel noted it then (`SO_PEERCRED`, unix(7)); 0 for one that this
 * container cannot see. Undefined where the C library cannot be called, and for what is no such socket.
 */
export function unixPeerPid(fd: number): number | undefined {
  return (ask ??= asker())(fd);
}

/** Writes `value` and its length for a socket option; 0 when that went well. */
type GetSockOpt = (fd: number, level: number, name: number, value: Uint8Array, length: Uint8Array) => number;
type Ask = (fd: number) => number | undefined;

let ask: Ask | undefined;

/** Linux has other numbers on MIPS and SPARC, where there is neither Bun nor Deno. */
const SOL_SOCKET = 1, SO_PEERCRED = 17;

function asker(): Ask {
  const call = process.platform === "linux" ? getSockOpt() : undefined;
  if (call === undefined) return () => undefined;
  return (fd) => {
    // struct ucred: pid, uid, gid.
    const credentials = new Int32Array(3), length = new Int32Array([credentials.byteLength]);
    const failed = call(fd, SOL_SOCKET, SO_PEERCRED, new Uint8Array(credentials.buffer), new Uint8Array(length.buffer));
    return failed === 0 && length[0] === credentials.byteLength ? credentials[0] : undefined;
  };
}

/** glibc's name; musl takes itself for whatever is called `libc`. */
const library = "libc.so.6";

/** `getsockopt` of the C library, through the runtime's foreign function interface; undefined where that cannot be had. */
function getSockOpt(): GetSockOpt | undefined {
  try {
    return "Bun" in globalThis ? fromBun() : fromDeno();
  } catch {
    return undefined;
  }
}

function fromBun(): GetSockOpt | undefined {
  const ffi = process.getBuiltinModule("bun:ffi" as "node:fs") as unknown as {
    dlopen(
      library: string,
      symbols: Record<string, unknown>,
    ): { readonly symbols: { readonly getsockopt: GetSockOpt } };
  };
  const getsockopt = { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" };
  return ffi.dlopen(library, { getsockopt }).symbols.getsockopt;
}

function fromDeno(): GetSockOpt | undefined {
  const { Deno } = globalThis as unknown as {
    readonly Deno?: {
      readonly permissions: { querySync(what: { name: string }): { readonly state: string } };
      dlopen(library: string, symbols: unknown): { readonly symbols: { readonly getsockopt: GetSockOpt } };
    };
  };
  // Without the permission it would ask whoever sits at the terminal.
  if (Deno?.permissions.querySync({ name: "ffi" }).state !== "granted") return undefined;
  const getsockopt = { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" };
  return Deno.dlopen(library, { getsockopt }).symbols.getsockopt;
}
