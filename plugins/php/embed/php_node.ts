/**
 * PHP as a library: what is used of the npm package `@platformatic/php-node`, which users install themselves.
 *
 * @module
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { CoreError } from "../../../core/error.ts";

/** The package's name. */
export const packageName = "@platformatic/php-node";

export interface PhpHeaders {
  add(name: string, value: string): void;
  entries(): readonly (readonly [name: string, value: string])[];
}

export interface PhpResponse {
  readonly status: number;
  readonly headers: PhpHeaders;
  readonly body: Uint8Array;
  /** What went to PHP's error log. */
  readonly log: Uint8Array;
}

/** What the package exports, as far as it is used here. */
export interface PhpNode {
  readonly Php: new (options: { readonly docroot: string; readonly throwRequestErrors: boolean }) => {
    handleRequest(request: object): Promise<PhpResponse>;
  };
  readonly Headers: new () => PhpHeaders;
  readonly Request: new (options: {
    readonly method: string;
    readonly url: string;
    readonly headers: PhpHeaders;
  }) => object;
}

/** Where the package lies, looked for from each folder upwards; undefined where it is not installed. */
export function findPhpNode(folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    try {
      return createRequire(join(folder, "fairlead.js")).resolve(packageName);
    } catch {
      // Not there.
    }
  }
  return undefined;
}

/** @throws CoreError `PHP_EMBED` when it does not load: a library of the system that it needs is missing, or it was built for another one */
export function loadPhpNode(path: string): PhpNode {
  try {
    return createRequire(path)(path) as PhpNode;
  } catch (cause) {
    const text = `Cannot load ${packageName}: ${(cause as Error).message}; on Debian it needs the package libzip4, ` +
      "and its other libraries are told by ldd";
    throw new CoreError("PHP_EMBED", text, { cause });
  }
}
