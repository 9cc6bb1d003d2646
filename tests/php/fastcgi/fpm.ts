/** Starts a real php-fpm in a folder of its own, for the tests that need PHP's own opinion. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type Address, connect } from "../../../plugins/php/fastcgi/socket.ts";

export interface Fpm {
  readonly dir: string;
  readonly address: Address;
  /** Parameters that run `<?php code`. */
  script(code: string): string;
  stop(): Promise<void>;
}

function find(): string {
  for (const dir of [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"]) {
    if (!existsSync(dir)) continue;
    const name = readdirSync(dir).sort().reverse().find((entry) => /^php-fpm[\d.]*$/.test(entry));
    if (name !== undefined) return join(dir, name);
  }
  throw new Error("Cannot find php-fpm in PATH or /usr/sbin; install the package php-fpm");
}

export async function startFpm(children: number): Promise<Fpm> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-fcgi-"));
  const socket = join(dir, "fpm.sock");
  const root = process.getuid?.() === 0;
  writeFileSync(
    join(dir, "fpm.conf"),
    [
      `[global]`,
      `error_log = ${join(dir, "fpm.log")}`,
      `daemonize = no`,
      `[www]`,
      ...(root ? [`user = root`, `group = root`] : []),
      `listen = ${socket}`,
      `pm = static`,
      `pm.max_children = ${children}`,
      `php_admin_value[post_max_size] = 8M`,
      `php_admin_value[display_errors] = 0`,
      `php_admin_value[log_errors] = 1`,
      `php_admin_value[error_log] = ""`,
    ].join("\n"),
  );
  const args = ["-n", "-F", "-y", join(dir, "fpm.conf"), ...(root ? ["-R"] : [])];
  const fpm: ChildProcess = spawn(find(), args, { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => fpm.once("exit", () => resolve()));
  const address = { path: socket };
  let count = 0;
  const stop = async () => {
    fpm.kill("SIGTERM");
    await ended;
    rmSync(dir, { recursive: true, force: true });
  };
  for (let tries = 0;; tries++) {
    if (existsSync(socket)) {
      const probe = await connect(address).catch(() => undefined);
      probe?.destroy();
      if (probe !== undefined) break;
    }
    if (tries > 200 || fpm.exitCode !== null) {
      const log = existsSync(join(dir, "fpm.log")) ? readFileSync(join(dir, "fpm.log"), "utf8") : "no log";
      await stop();
      throw new Error(`php-fpm did not come up: ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return {
    dir,
    address,
    script(code) {
      const file = join(dir, `script${count++}.php`);
      writeFileSync(file, `<?php ${code}`);
      return file;
    },
    stop,
  };
}

/** Kernel state of a process (`S`, `R`, `Z`), or undefined when there is none. */
export function processState(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "stat=", "-p", String(pid)]).toString().trim()[0];
  } catch {
    return undefined;
  }
}
