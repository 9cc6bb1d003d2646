/**
 * The servers that are compared, and the loop inside PHP that bounds what they can do.
 *
 * @module
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "smol-toml";
import type { Running } from "../http/arms/arm.ts";
import { NGINX_ARMS } from "../http/arms/nginx.ts";
import { freePort, launch, until } from "../http/process.ts";
import type { Site, WorkerKind } from "./sites.ts";

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
      mkdirSync(dir, { recursive: true });
      const [port, adminPort] = [await freePort(), await freePort()];
      // A script in the public root is a file there, and would be 404 before any worker is asked.
      const publicDir = kind !== "fpm" && site.name === "scripts" ? join(site.root, "empty") : site.publicDir;
      const text = stringify({
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
          env: {
            APP_ENV: site.name === "symfony" ? "prod" : "production",
            APP_DEBUG: "0",
            FRANKENPHP_LOOP_MAX: "0",
            APP_BASE_PATH: site.root,
            APP_PUBLIC_PATH: site.publicDir,
            LARAVEL_OCTANE: "1",
            MAX_REQUESTS: "1000000000",
          },
        },
      });
      const file = join(dir, "fairlead.toml");
      writeFileSync(file, text);
      const bun = join(fairleadRoot, "node_modules/.bin/bun");
      const server = launch({
        command: [bun, "--smol", "run", join(fairleadRoot, "mod.ts"), "serve", "-c", file],
        logFile: join(dir, "fairlead.out"),
        cwd: fairleadRoot,
        env: { PHPRC: ini },
      });
      try {
        await until(`${name} is ready`, server, async () => {
          return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status === 200;
        });
      } catch (error) {
        await server.stop();
        throw error;
      }
      return {
        port,
        adminPort,
        pid: server.pid,
        executable: realpathSync(bun),
        roots: [server.pid],
        command: server.command,
        config: { "fairlead.toml": text },
        stop: () => server.stop(),
      };
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
