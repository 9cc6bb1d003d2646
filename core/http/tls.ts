import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { CoreError } from "../error.ts";

/** A certificate chain and its private key: names of files, or PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Reads the files that `server.tls` names. @throws TLS_UNREADABLE */
export function readTls(files: Tls, baseDir: string): Tls {
  const read = (what: "cert" | "key") => {
    const path = resolve(baseDir, files[what]);
    try {
      return readFileSync(path, "utf8");
    } catch (cause) {
      throw new CoreError("TLS_UNREADABLE", `Cannot read server.tls.${what}: ${(cause as Error).message}`, { cause });
    }
  };
  return { cert: read("cert"), key: read("key") };
}
