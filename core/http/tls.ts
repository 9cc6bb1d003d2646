import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { CoreError } from "../error.ts";

/** A certificate chain and its private key: names of files, or PEM. */
export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** The certificate of a listener, and those for clients that name one of some hosts when they connect (SNI, RFC 6066). */
export interface Certificates extends Tls {
  /** By name, in small letters; `*.shop.example` for the names one label below. */
  readonly byName: ReadonlyMap<string, Tls>;
}

/** What `[server]` says of certificates. */
export interface TlsFiles {
  readonly tls?: Tls | undefined;
  readonly hosts?:
    | Readonly<Record<string, { readonly aliases: readonly string[]; readonly tls?: Tls | undefined }>>
    | undefined;
}

const certBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;
const keyBlock = /-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----[^]+?-----END \1-----/;

/** Reads the files that `server.tls` and the entries of `server.hosts` name. @throws TLS_UNREADABLE, TLS_UNUSABLE */
export function readTls({ tls, hosts = {} }: TlsFiles, baseDir: string): Certificates | undefined {
  if (tls === undefined) return undefined;
  const byName = new Map<string, Tls>();
  for (const [name, { aliases, tls }] of Object.entries(hosts)) {
    if (tls === undefined) continue;
    const own = readPair(tls, `server.hosts.${JSON.stringify(name)}.tls`, baseDir);
    for (const each of [name, ...aliases]) byName.set(each.toLowerCase(), own);
  }
  return { ...readPair(tls, "server.tls", baseDir), byName };
}

function readPair(files: Tls, key: string, baseDir: string): Tls {
  const read = (what: "cert" | "key") => {
    const path = resolve(baseDir, files[what]);
    try {
      return readFileSync(path, "utf8");
    } catch (cause) {
      throw new CoreError("TLS_UNREADABLE", `Cannot read ${key}.${what}: ${(cause as Error).message}`, { cause });
    }
  };
  const pair = { cert: read("cert"), key: read("key") };
  const problem = pairProblem(pair);
  if (problem !== undefined) throw new CoreError("TLS_UNUSABLE", `Cannot use ${key}: ${problem}`);
  return pair;
}

/** What is plainly wrong: with many certificates the runtime's own error does not say of which, and Deno starts without one. */
function pairProblem({ cert, key }: Tls): string | undefined {
  const [ofCert] = certBlock.exec(cert) ?? [], [ofKey] = keyBlock.exec(key) ?? [];
  if (ofCert === undefined) return "expected a certificate in PEM in the file of cert";
  if (ofKey === undefined) return "expected a private key in PEM in the file of key";
  let fits: boolean;
  try {
    fits = new X509Certificate(ofCert).checkPrivateKey(createPrivateKey(ofKey));
  } catch {
    // A kind that is not known here may still be known to the runtime's TLS, which has the last word.
    return undefined;
  }
  return fits ? undefined : "the private key is not that of the certificate, which must be the first of its file";
}

/** What there is for the name that a client has said: for exactly this one, or for a wildcard one label above, as certificates are. */
export function forServerName<T>(byName: ReadonlyMap<string, T>, said: string): T | undefined {
  const name = said.toLowerCase().replace(/\.$/, "");
  const dot = name.indexOf(".");
  return byName.get(name) ?? (dot > 0 ? byName.get(`*${name.slice(dot)}`) : undefined);
}
