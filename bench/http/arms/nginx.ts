/**
 * The control arm: nginx in front of a static php-fpm pool, tuned the way a careful operator would.
 *
 * @module
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../../tests/support/ports.ts";
import { launch, type Started, until } from "../../support/process.ts";
import { probe } from "../../support/probe.ts";
import { executable } from "../../support/procfs.ts";
import type { Arm, ArmOptions, Running } from "./arm.ts";

interface Variant {
  readonly workers: number;
  /** Connections to php-fpm that each worker keeps open; 0 opens one for each request. */
  readonly keepConnections: number;
}

const asRoot = process.getuid?.() === 0;

function poolConfig(o: ArmOptions): string {
  const user = asRoot ? "user = www-data\ngroup = www-data\nlisten.owner = www-data\nlisten.group = www-data\n" : "";
  return `[global]
error_log = ${join(o.dir, "php-fpm.log")}
log_level = warning
daemonize = no

[www]
${user}listen = ${join(o.dir, "fpm.sock")}
listen.backlog = 4096
pm = static
pm.max_children = ${o.children}
pm.max_requests = 0
`;
}

function nginxConfig(o: ArmOptions, port: number, variant: Variant): string {
  const temporary = ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"]
    .map((name) => `  ${name}_temp_path ${join(o.dir, name)};`).join("\n");
  const keep = variant.keepConnections;
  return `${asRoot ? "user www-data;\n" : ""}daemon off;
pid ${join(o.dir, "nginx.pid")};
error_log ${join(o.dir, "nginx.log")} warn;
worker_processes ${variant.workers};
worker_rlimit_nofile 20000;
events {
  worker_connections 16384;
}
http {
${temporary}
  access_log off;
  sendfile on;
  tcp_nopush on;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=60s;
  open_file_cache_valid 30s;
  default_type application/octet-stream;
  types { text/html html; text/css css; application/javascript js; image/png png; image/svg+xml svg; }
  upstream php {
    server unix:${join(o.dir, "fpm.sock")};
${keep > 0 ? `    keepalive ${keep};\n    keepalive_requests 1000000000;\n` : ""}  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    root ${o.publicDir};
    index index.php index.html;
    location / {
      try_files $uri $uri/ /index.php?$args;
    }
    location ~ \\.php$ {
      try_files $uri =404;
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
      fastcgi_buffers 16 32k;
      fastcgi_buffer_size 32k;
      fastcgi_keep_conn ${keep > 0 ? "on" : "off"};
      fastcgi_pass php;
    }
  }
}
`;
}

async function start(o: ArmOptions, variant: Variant): Promise<Running> {
  mkdirSync(o.dir, { recursive: true });
  const port = await freePort();
  const config = { "php-fpm.conf": poolConfig(o), "nginx.conf": nginxConfig(o, port, variant) };
  for (const [name, text] of Object.entries(config)) writeFileSync(join(o.dir, name), text);
  const started: Started[] = [];
  const stop = async () => {
    for (const server of started.reverse()) await server.stop();
  };
  try {
    const fpm = launch({
      command: [o.phpFpm, "-F", "--fpm-config", join(o.dir, "php-fpm.conf")],
      logFile: join(o.dir, "php-fpm.out"),
      env: o.env,
    });
    started.push(fpm);
    const nginx = launch({
      command: ["nginx", "-c", join(o.dir, "nginx.conf"), "-e", join(o.dir, "nginx.log")],
      logFile: join(o.dir, "nginx.out"),
    });
    started.push(nginx);
    const path = o.site === "scripts" ? "/tiny.php" : "/";
    await until("nginx is ready", nginx, async () => (await probe({ port, path }, 10_000)).status < 400);
    const binary = realpathSync(executable(nginx.pid) ?? "");
    return {
      port,
      pid: nginx.pid,
      executable: binary,
      roots: [nginx.pid, fpm.pid],
      command: nginx.command,
      config,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const cores = availableParallelism();

export const NGINX_ARMS: readonly Arm[] = [
  {
    name: "nginx",
    about: `nginx (${cores} workers) + php-fpm, a FastCGI connection for each request`,
    start: (o) => start(o, { workers: cores, keepConnections: 0 }),
  },
  {
    name: "nginx-again",
    about: "the same once more: its ratio to `nginx` is what chance alone does",
    start: (o) => start(o, { workers: cores, keepConnections: 0 }),
  },
  {
    name: "nginx-1-worker",
    about: "nginx (1 worker) + php-fpm, a FastCGI connection for each request",
    start: (o) => start(o, { workers: 1, keepConnections: 0 }),
  },
  {
    name: "nginx-keep-conn",
    about: "nginx (1 worker) + php-fpm, `fastcgi_keep_conn` with as many kept connections as children",
    start: (o) => start(o, { workers: 1, keepConnections: o.children }),
  },
];
