/**
 * The servers that are compared, and the loop inside PHP that bounds what they can do.
 *
 * @module
 */
import { join } from "node:path";
import { stringify } from "smol-toml";
import { freePorts } from "../../tests/support/ports.ts";
import type { Running } from "../http/arms/arm.ts";
import { NGINX_ARMS } from "../http/arms/nginx.ts";
import { BUN, startFairlead } from "../support/fairlead.ts";
import { environment, type Site, type WorkerKind } from "./sites.ts";

export interface StartOptions {
  readonly site: Site;
  /** An empty folder for configuration and logs. */
  readonly dir: string;
  readonly children: number;
  readonly phpFpm: string;
  /** The php.ini of every PHP. */
  readonly ini: string;
  readonly fairleadRoot: string;
  /** Ms that a request may wait. */
  readonly grace: number;
}

export interface Arm {
  readonly name: string;
  readonly about: string;
  /** Whether it can serve the site. */
  serves(site: Site): boolean;
  start(options: StartOptions): Promise<Running>;
}

const nginx = NGINX_ARMS.find((arm) => arm.name === "nginx")!;

function fairlead(name: string, about: string, kind: "fpm" | WorkerKind, isolation: "none" | "fork" = "none"): Arm {
  return {
    name,
    about,
    serves: (site) => kind === "fpm" || site.workers[kind] !== undefined,
    async start({ site, dir, children, fairleadRoot, ini, grace }) {
      const [port = 0, adminPort = 0] = await freePorts(2);
      // A script in the public root is a file there, and would be 404 before any worker is asked.
      const publicDir = kind !== "fpm" && site.name === "scripts" ? join(site.root, "empty") : site.publicDir;
      const toml = stringify({
        server: { listen: [`127.0.0.1:${port}`], public: publicDir },
        admin: { listen: `127.0.0.1:${adminPort}` },
        log: { level: "warn", access: "off" },
        admission: { max_queue: 10_000, grace: `${grace}ms` },
        php: {
          concurrency: children,
          ...(kind === "fpm" ? { engine: "fpm" } : {
            engine: "worker",
            root: site.root,
            script: site.workers[kind],
            protocol: kind,
            isolation,
          }),
          env: environment(site),
        },
      });
      const env = { PHPRC: ini };
      const server = await startFairlead({ name, runtime: BUN, root: fairleadRoot, dir, toml, adminPort, env });
      return { ...server, port, roots: [server.pid] };
    },
  };
}

export const ARMS: readonly Arm[] = [
  {
    name: "nginx",
    about: nginx.about,
    serves: () => true,
    start: ({ site, dir, children, phpFpm, ini, fairleadRoot }) =>
      nginx.start({
        // What it asks to see whether it is ready: `/tiny.php`, or the front page.
        site: site.name === "scripts" ? "scripts" : "wordpress",
        publicDir: site.publicDir,
        dir,
        children,
        phpFpm,
        env: { PHPRC: ini },
        fairleadRoot,
        fairleadToml: "",
      }),
  },
  fairlead("fpm", "Fairlead on Bun with php-fpm", "fpm"),
  fairlead("native", "Fairlead with native workers", "native"),
  fairlead("frankenphp", "Fairlead with FrankenPHP-shaped workers", "frankenphp"),
  fairlead("goridge", "Fairlead with Goridge workers", "goridge"),
  fairlead("fork", "Fairlead with FrankenPHP-shaped workers, each request in a fork", "frankenphp", "fork"),
];
