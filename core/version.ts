/** Kept equal to package.json by a test. */
export const version = "0.1.0";

/** `bun 1.4.5` or `deno 2.9.6`. */
export function runtime(): string {
  const { Bun, Deno } = globalThis as { Bun?: { version: string }; Deno?: { version: { deno: string } } };
  return Bun !== undefined
    ? `bun ${Bun.version}`
    : Deno !== undefined
    ? `deno ${Deno.version.deno}`
    : `node ${process.version}`;
}
