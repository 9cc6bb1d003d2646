/**
 * nginx + php-fpm in the place of the server under test: `FAIRLEAD_TEST_HOSTS=nginx` shows that the black-box tests ask
 * for what a well-kept server gives, and which of them only this project passes.
 *
 * @module
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";

interface Tables {
  readonly server?: { readonly public?: string; readonly max_body?: string; readonly timeout?: string };
  readonly php?: { readonly concurrency?: number; readonly ini?: Readonly<Record<string, unknown>> };
}

/** Written out, for the file that comes with nginx differs between distributions. */
const parameters = Object.entries({
  QUERY_STRING: "$query_string",
  REQUEST_METHOD: "$request_method",
  CONTENT_TYPE: "$content_type",
  CONTENT_LENGTH: "$content_length",
  REQUEST_URI: "$request_uri",
  DOCUMENT_URI: "$document_uri",
  DOCUMENT_ROOT: "$document_root",
  SERVER_PROTOCOL: "$server_protocol",
  REMOTE_ADDR: "$remote_addr",
  REMOTE_PORT: "$remote_port",
  SERVER_PORT: "$server_port",
  HTTP_HOST: "$host:$server_port",
}).map(([name, value]) => `fastcgi_param ${name} ${value};`).join(" ");

/** Writes configurations that do what a `fairlead.toml` asks, and returns the command that runs both servers. */
export function nginxCommand(config: Tables, dir: string, port: number, adminPort: number): string[] {
  const at = join(dir, ".nginx");
  mkdirSync(join(at, "tmp"), { recursive: true });
  const publicRoot = resolve(dir, config.server?.public ?? "./public");
  const asRoot = process.getuid?.() === 0;
  const timeout = config.server?.timeout ?? "60s";

  writeFileSync(join(at, "fpm.conf"), fpmConfig(at, asRoot, config.php?.concurrency ?? 4, config.php?.ini ?? {}));
  writeFileSync(
    join(at, "nginx.conf"),
    `${asRoot ? "user www-data;" : ""}
daemon off;
worker_processes 2;
pid ${at}/nginx.pid;
error_log stderr alert;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types;
  access_log off;
  server_tokens off;
  client_body_temp_path ${at}/tmp; fastcgi_temp_path ${at}/tmp; proxy_temp_path ${at}/tmp;
  uwsgi_temp_path ${at}/tmp; scgi_temp_path ${at}/tmp;
  client_max_body_size ${(config.server?.max_body ?? "10MB").replace("MB", "m").replace("KB", "k")};
  large_client_header_buffers 8 32k;
  server {
    listen 127.0.0.1:${adminPort};
    location = /readyz {
      fastcgi_param REQUEST_METHOD GET;
      fastcgi_param SCRIPT_NAME /readyz;
      fastcgi_param SCRIPT_FILENAME /readyz;
      fastcgi_pass unix:${at}/fpm.sock;
    }
  }
  server {
    listen 127.0.0.1:${port};
    root ${publicRoot};
    index index.php index.html;
    disable_symlinks if_not_owner from=$document_root;
    absolute_redirect off;
    location ~ /\\.(?!well-known) { return 404; }
    location / { try_files $uri $uri/ /index.php$is_args$args; }
    location ~ ^(?<script>.+?\\.php)(?<rest>/.*)?$ {
      if (!-f $document_root$script) { return 404; }
      ${parameters}
      fastcgi_param SCRIPT_NAME $script;
      fastcgi_param SCRIPT_FILENAME $document_root$script;
      fastcgi_param PATH_INFO $rest;
      fastcgi_param HTTP_PROXY "";
      fastcgi_read_timeout ${timeout};
      fastcgi_buffer_size 64k;
      fastcgi_buffers 8 64k;
      fastcgi_pass unix:${at}/fpm.sock;
    }
  }
}
`,
  );
  const fpm = ["/usr/sbin/php-fpm8.2", "/usr/sbin/php-fpm"].find(existsSync) ?? "php-fpm";
  // The shell becomes nginx, so that php-fpm is a child of the process the test holds.
  return ["/bin/sh", "-c", `${fpm} -F -y ${at}/fpm.conf & exec nginx -c ${at}/nginx.conf -e stderr`];
}

function fpmConfig(at: string, asRoot: boolean, children: number, ini: Readonly<Record<string, unknown>>): string {
  return `[global]
error_log = ${at}/fpm.log
daemonize = no
[www]
listen = ${at}/fpm.sock
listen.mode = 0666
${asRoot ? "user = www-data\ngroup = www-data" : ""}
ping.path = /readyz
pm = static
pm.max_children = ${children}
catch_workers_output = yes
clear_env = no
${Object.entries(ini).map(([key, value]) => `php_admin_value[${key}] = ${value}`).join("\n")}
`;
}
