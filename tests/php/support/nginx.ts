/**
 * A private nginx for tests, configured as Debian's snippets do.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import process from "node:process";
import { connect as connectTls } from "node:tls";
import { freePorts } from "../../support/ports.ts";

export interface Nginx {
  readonly port: number;
  /** The same site over TLS. */
  readonly tlsPort: number;
  /** Sends bytes on a connection of their own and returns all that comes back, as Latin-1. */
  send(request: string, scheme?: "http" | "https"): Promise<string>;
  stop(): Promise<void>;
}

/** What Debian's fastcgi.conf sends, spelled out so that the test needs no file of the system. */
const fastcgiConf = `
  fastcgi_param SCRIPT_FILENAME   $document_root$fastcgi_script_name;
  fastcgi_param QUERY_STRING      $query_string;
  fastcgi_param REQUEST_METHOD    $request_method;
  fastcgi_param CONTENT_TYPE      $content_type;
  fastcgi_param CONTENT_LENGTH    $content_length;
  fastcgi_param SCRIPT_NAME       $fastcgi_script_name;
  fastcgi_param REQUEST_URI       $request_uri;
  fastcgi_param DOCUMENT_URI      $document_uri;
  fastcgi_param DOCUMENT_ROOT     $document_root;
  fastcgi_param SERVER_PROTOCOL   $server_protocol;
  fastcgi_param REQUEST_SCHEME    $scheme;
  fastcgi_param HTTPS             $https if_not_empty;
  fastcgi_param GATEWAY_INTERFACE CGI/1.1;
  fastcgi_param SERVER_SOFTWARE   nginx/$nginx_version;
  fastcgi_param REMOTE_ADDR       $remote_addr;
  fastcgi_param REMOTE_PORT       $remote_port;
  fastcgi_param REMOTE_USER       $remote_user;
  fastcgi_param SERVER_ADDR       $server_addr;
  fastcgi_param SERVER_PORT       $server_port;
  fastcgi_param SERVER_NAME       $server_name;
  fastcgi_param REDIRECT_STATUS   200;`;

export async function startNginx(dir: string, root: string, fpmSocket: string): Promise<Nginx> {
  mkdirSync(join(dir, "nginx"), { recursive: true });
  const at = (name: string) => join(dir, "nginx", name);
  const [port = 0, tlsPort = 0] = await freePorts(2);
  execFileSync("openssl", [
    ..."req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=site.test -addext subjectAltName=DNS:site.test".split(" "),
    ...["-keyout", at("key.pem"), "-out", at("cert.pem")],
  ], { stdio: "ignore" });
  writeFileSync(
    at("nginx.conf"),
    `daemon off; worker_processes 1; pid ${at("pid")}; error_log ${at("error.log")};
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path ${at("body")}; fastcgi_temp_path ${at("fcgi")}; proxy_temp_path ${at("proxy")};
  uwsgi_temp_path ${at("uwsgi")}; scgi_temp_path ${at("scgi")};
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${tlsPort} ssl;
    ssl_certificate ${at("cert.pem")};
    ssl_certificate_key ${at("key.pem")};
    server_name site.test;
    root ${root};
    index index.php;
    location / { try_files $uri $uri/ /index.php$is_args$args; }
    location ~ \\.php(/|$) {
      fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
      try_files $fastcgi_script_name =404;
      set $path_info $fastcgi_path_info;
      fastcgi_param PATH_INFO $path_info;
      ${fastcgiConf}
      fastcgi_pass unix:${fpmSocket};
    }
  }
}`,
  );
  const child: ChildProcess = spawn(nginxProgram(), ["-p", at(""), "-e", at("error.log"), "-c", at("nginx.conf")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const reachable = () =>
    new Promise<boolean>((done) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => (socket.destroy(), done(true)));
      socket.once("error", () => done(false));
    });
  for (let tries = 0; !(await reachable()); tries++) {
    if (tries > 1000 || child.exitCode !== null) throw new Error("nginx does not start");
    await new Promise((next) => setTimeout(next, 5));
  }
  return {
    port,
    tlsPort,
    send: (request, scheme = "http") =>
      new Promise((done, fail) => {
        let text = "";
        const socket = scheme === "http" ? connect(port, "127.0.0.1") : connectTls({
          port: tlsPort,
          host: "127.0.0.1",
          servername: "site.test",
          ca: readFileSync(at("cert.pem")),
        });
        socket.setEncoding("latin1");
        socket.on(scheme === "http" ? "connect" : "secureConnect", () => socket.write(request, "latin1"));
        socket.on("data", (chunk) => text += String(chunk));
        socket.on("error", fail);
        socket.on("close", () => done(text));
      }),
    stop: () => (child.kill("SIGQUIT"), ended),
  };
}

/** nginx in PATH, or where Debian keeps servers: that folder is not in the PATH of its ordinary users. */
function nginxProgram(): string {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, "nginx")).find((path) => existsSync(path)) ?? "nginx";
}
