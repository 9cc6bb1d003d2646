/**
 * The calls of the C library that neither runtime has. They are undefined where it cannot be called.
 *
 * @module
 */
import process from "node:process";

/** What is passed: a 32-bit number, or the address of some bytes (null for none). */
type Type = "i32" | "buffer";
export type Call = (...args: readonly (number | Uint8Array | null)[]) => number;

interface Library {
  readonly symbols: Readonly<Record<string, Call>>;
}

/** glibc, musl. */
const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/** A function of the C library that returns an `int`; undefined where it cannot be called. Sizes (`size_t`) are passed as `i32`. */
export function find(name: string, types: readonly Type[]): Call | undefined {
  const open = "Bun" in globalThis ? openInBun : openInDeno;
  for (const library of libraries) {
    try {
      return open(library, name, types)?.symbols[name];
    } catch {
      // The next one.
    }
  }
  return undefined;
}

interface BunFfi {
  dlopen(library: string, symbols: Record<string, unknown>): Library;
  ptr(bytes: Uint8Array): number;
}

const bunFfi = (): BunFfi => process.getBuiltinModule("bun:ffi" as "node:fs") as unknown as BunFfi;

interface DenoLike {
  readonly permissions: { querySync(what: { name: string }): { readonly state: string } };
  dlopen(library: string, symbols: unknown): Library;
  readonly UnsafePointer: { of(bytes: Uint8Array): unknown; value(pointer: unknown): number | bigint };
}

function openInBun(library: string, name: string, types: readonly Type[]): Library {
  const args = types.map((type) => type === "buffer" ? "ptr" : type);
  return bunFfi().dlopen(library, { [name]: { args, returns: "i32" } });
}

function openInDeno(library: string, name: string, types: readonly Type[]): Library | undefined {
  const { Deno } = globalThis as unknown as { readonly Deno?: DenoLike };
  // Without the permission it would ask whoever sits at the terminal.
  if (Deno?.permissions.querySync({ name: "ffi" }).state !== "granted") return undefined;
  return Deno.dlopen(library, { [name]: { parameters: types, result: "i32" } });
}

/** Where bytes lie in memory, for a structure that points to them. They stay there for as long as `bytes` is held. */
export function addressOf(bytes: Uint8Array): bigint {
  if ("Bun" in globalThis) return BigInt(bunFfi().ptr(bytes));
  const { UnsafePointer } = (globalThis as unknown as { readonly Deno: DenoLike }).Deno;
  return BigInt(UnsafePointer.value(UnsafePointer.of(bytes)));
}

/** WNOHANG of waitpid(2) on Linux. */
const noHang = 1;

/** waitpid(2) with WNOHANG: collects a child that has ended. */
export function waitWithoutBlocking(): ((pid: number) => void) | undefined {
  const waitpid = find("waitpid", ["i32", "buffer", "i32"]);
  return waitpid && ((pid) => void waitpid(pid, null, noHang));
}

/** Of sigaction(2) and of POSIX: `SIG_DFL` and `SIG_IGN`, and the number of SIGHUP. */
const SIG_DFL = 0, SIG_IGN = 1, SIGHUP = 1;

/**
 * Has the kernel ignore SIGHUP, also in a program that this process becomes by execve(2), or act on it as it would by itself. For a
 * process that has no handler. Does nothing where the C library cannot be called.
 */
export function ignoreHangUp(ignored: boolean): void {
  // struct sigaction of glibc and of musl: the handler comes first; an empty mask, no flags.
  const action = new BigUint64Array(24);
  action[0] = BigInt(ignored ? SIG_IGN : SIG_DFL);
  find("sigaction", ["i32", "buffer", "buffer"])?.(SIGHUP, new Uint8Array(action.buffer), null);
}

/** Linux has other numbers on MIPS and SPARC, where there is neither Bun nor Deno. */
const SOL_SOCKET = 1, SO_PEERCRED = 17;

/** Looked up once; null where there is none. */
let getsockopt: Call | null | undefined;

/**
 * The process that connected to our unix socket, as the kernel noted it then (`SO_PEERCRED`, unix(7)); 0 for one that this
 * container cannot see. Undefined where the C library cannot be called, and for what is no such socket.
 */
export function unixPeerPid(fd: number): number | undefined {
  getsockopt ??= (process.platform === "linux" && find("getsockopt", ["i32", "i32", "i32", "buffer", "buffer"])) ||
    null;
  if (getsockopt === null) return undefined;
  // struct ucred: pid, uid, gid.
  const credentials = new Int32Array(3), length = new Int32Array([credentials.byteLength]);
  const at = (array: Int32Array) => new Uint8Array(array.buffer);
  const failed = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, at(credentials), at(length));
  return failed === 0 && length[0] === credentials.byteLength ? credentials[0] : undefined;
}
