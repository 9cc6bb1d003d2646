/**
 * PHP's own test suites, from the distribution's source package of the installed PHP.
 *
 * `apt-get source` with a list of sources, a state and a cache of its own: the machine's apt stays as it is.
 *
 * @module
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

export interface PhpSource {
  /** Of the source, `8.2.32`; the newest of the installed PHP's branch when its very own is not to be had. */
  readonly version: string;
  /** Holds `run-tests.php` and the {@linkcode folders} of tests. */
  readonly dir: string;
}

/** The tests that concern a database. */
const folders = ["ext/mysqli/tests", "ext/pdo/tests", "ext/pdo_mysql/tests"];

const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "fairlead");

/** The source, from the cache or the distribution. Throws a sentence that says why there is none. */
export function phpSource(): PhpSource {
  const installed = execFileSync("php", ["-r", "echo PHP_VERSION;"], { encoding: "utf8" });
  const branch = installed.split(".").slice(0, 2).join(".");
  const found = cached(branch);
  if (found) return found;
  if (!existsSync("/usr/bin/apt-get")) throw new Error("no apt-get to fetch PHP's source package with");
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "apt-"));
  try {
    const version = download(work, `php${branch}`);
    const tarball = readdirSync(work).find((name) => /\.orig\.tar\.\w+$/.test(name));
    if (!tarball) throw new Error("the source package has no orig.tar");
    const unpacked = join(work, "php");
    mkdirSync(unpacked);
    const wanted = ["*/run-tests.php", ...folders.map((folder) => `*/${folder}/*`)];
    execFileSync("tar", ["-xf", join(work, tarball), "-C", unpacked, "--strip-components=1", "--wildcards", ...wanted]);
    const kept = join(cache, `php-${version}`);
    rmSync(kept, { recursive: true, force: true });
    renameSync(unpacked, kept);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return cached(branch)!;
}

function cached(branch: string): PhpSource | undefined {
  if (!existsSync(cache)) return undefined;
  // One that an earlier version of this kept has fewer of them.
  const name = readdirSync(cache).filter((entry) =>
    entry.startsWith(`php-${branch}.`) && folders.every((folder) => existsSync(join(cache, entry, folder)))
  ).sort().at(-1);
  return name === undefined ? undefined : { version: name.slice(4), dir: join(cache, name) };
}

/** Downloads the newest version that the mirror really has; a mirror may list one whose files are gone. */
function download(work: string, name: string): string {
  const sources = join(work, "src.sources");
  writeFileSync(sources, debSources());
  for (const folder of ["state/lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  const settings = {
    "Dir::Etc::SourceList": sources,
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::State": join(work, "state"),
    "Dir::State::status": "/var/lib/dpkg/status",
    "Dir::Cache": join(work, "cache"),
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, [...options, ...args], { cwd: work, encoding: "utf8" });
  const update = run("apt-get", "update");
  if (update.status !== 0) throw new Error(`apt-get update: ${update.stderr.trim().split("\n")[0]}`);
  const listed = run("apt-cache", "showsrc", name).stdout ?? "";
  const installed = execFileSync("dpkg-query", ["-W", "-f", "${source:Version}", `${name}-cli`], { encoding: "utf8" });
  const versions = [...listed.matchAll(/^Version: (\S+)$/gm)].map((match) => match[1]!);
  const order = [...new Set([installed, ...versions.reverse()])].filter((version) => versions.includes(version));
  for (const version of order) {
    if (run("apt-get", "source", "--download-only", `${name}=${version}`).status === 0) {
      return version.replace(/^\d+:/, "").replace(/-[^-]*$/, "");
    }
  }
  throw new Error(`the mirror has no source of ${name} (it lists ${versions.join(", ") || "none"})`);
}

/** The machine's own sources, as sources of source packages. */
function debSources(): string {
  const parts = "/etc/apt/sources.list.d";
  const files = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  const modern = files.filter((file) => file.endsWith(".sources")).map((file) => readFileSync(file, "utf8"))
    .flatMap((text) => text.split(/\n\s*\n/)).filter((stanza) => /^URIs:.*debian/m.test(stanza))
    .map((stanza) => stanza.replace(/^Types:.*$/m, "Types: deb-src"));
  const classic = ["/etc/apt/sources.list", ...files.filter((file) => file.endsWith(".list"))].filter(existsSync)
    .flatMap((file) => readFileSync(file, "utf8").split("\n"))
    .map((line) => /^deb\s+(?:\[[^\]]*\]\s+)?(\S*debian\S*)\s+(\S+)\s+(.+)$/.exec(line)).filter((match) =>
      match !== null
    )
    .map(([, uri, suite, components]) => `Types: deb-src\nURIs: ${uri}\nSuites: ${suite}\nComponents: ${components}\n`);
  const all = [...modern, ...classic];
  if (all.length === 0) throw new Error("no Debian mirror in apt's sources");
  return all.join("\n\n");
}
