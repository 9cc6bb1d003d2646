/**
 * Parts of the distribution's source packages.
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

export interface SourceOptions {
  /** Of the source package, `php8.2`. */
  readonly name: string;
  /** An installed package made of it: that version of the source is taken when it is to be had, else the newest. */
  readonly binary: string;
  /** What its folder in the cache is called before the version: `php-`. */
  readonly prefix: string;
  /** Of the version in the cache: what it must begin with. */
  readonly branch?: string;
  /** Paths below the source's own folder that are kept. */
  readonly wanted: readonly string[];
}

export interface Source {
  /** `8.2.32` */
  readonly version: string;
  readonly dir: string;
}

const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "fairlead");

/** The source, from the cache or the distribution. Throws a sentence that says why there is none. */
export function debianSource(options: SourceOptions): Source {
  const found = cached(options);
  if (found) return found;
  if (!existsSync("/usr/bin/apt-get")) throw new Error(`no apt-get to fetch the source of ${options.name} with`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "apt-"));
  try {
    const version = download(work, options);
    const tarball = readdirSync(work).find((name) => /\.orig\.tar\.\w+$/.test(name));
    if (!tarball) throw new Error("the source package has no orig.tar");
    const unpacked = join(work, "unpacked");
    mkdirSync(unpacked);
    const wanted = options.wanted.flatMap((path) => [`*/${path}`, `*/${path}/*`]);
    const take = ["--strip-components=1", "--wildcards", "--no-wildcards-match-slash"];
    // A pattern that nothing fits is an error of tar's: what is missing is seen by `cached`.
    spawnSync("tar", ["-xf", join(work, tarball), "-C", unpacked, ...take, ...wanted], { stdio: "ignore" });
    const kept = join(cache, `${options.prefix}${version}`);
    rmSync(kept, { recursive: true, force: true });
    renameSync(unpacked, kept);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const fetched = cached(options);
  if (!fetched) throw new Error(`the source of ${options.name} has no ${options.wanted.join(" or no ")}`);
  return fetched;
}

function cached({ prefix, branch = "", wanted }: SourceOptions): Source | undefined {
  if (!existsSync(cache)) return undefined;
  // One that an earlier version of this kept may have less of it.
  const name = readdirSync(cache).filter((entry) =>
    entry.startsWith(`${prefix}${branch}`) && wanted.every((path) => existsSync(join(cache, entry, path)))
  ).sort().at(-1);
  return name === undefined ? undefined : { version: name.slice(prefix.length), dir: join(cache, name) };
}

/** Downloads the newest version that the mirror really has; a mirror may list one whose files are gone. */
function download(work: string, { name, binary }: SourceOptions): string {
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
  const installed = execFileSync("dpkg-query", ["-W", "-f", "${source:Version}", binary], { encoding: "utf8" });
  const versions = [...listed.matchAll(/^Version: (\S+)$/gm)].map((match) => match[1]!);
  const order = [...new Set([installed, ...versions.reverse()])].filter((version) => versions.includes(version));
  for (const version of order) {
    // The packaging may be gone while the source itself is there.
    const done = run("apt-get", "source", "--download-only", `${name}=${version}`);
    if (done.status === 0 || readdirSync(work).some((file) => /\.orig\.tar\.\w+$/.test(file))) {
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
