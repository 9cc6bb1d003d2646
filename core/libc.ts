/**
 * The one call of the C library that neither runtime has.
 *
 * @module
 */

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
