import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { CoreError } from "../error.ts";
import { type Address, showAddress } from "./address.ts";

/** Turns a failed bind into an error that names the address and, where the system tells, who holds it. */
export function portTaken(at: Address, cause: unknown): CoreError {
  const { code, message } = cause as { code?: string; message?: string };
  const where = `Cannot listen on ${showAddress(at)}`;
  if (code === "EADDRINUSE" || /in use/i.test(message ?? "")) {
    const holder = at.kind === "tcp" ? portHolder(at.port) : undefined;
    return new CoreError("ADDRESS_TAKEN", `${where}: the address is in use${holder ? ` by ${holder}` : ""}`, { cause });
  }
  if (code === "EACCES") return new CoreError("ADDRESS_DENIED", `${where}: permission denied`, { cause });
  if (code === "EADDRNOTAVAIL") {
    return new CoreError("ADDRESS_UNKNOWN", `${where}: no interface of this machine has that address`, { cause });
  }
  return new CoreError("ADDRESS_FAILED", `${where}: ${message ?? String(cause)}`, { cause });
}

/** `pid 123 (nginx)` for the process that listens on a TCP port, from Linux's /proc; undefined when it does not tell. */
function portHolder(port: number): string | undefined {
  try {
    const wanted = new Set<string>();
    for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
      for (const line of read(table).split("\n").slice(1)) {
        const f = line.trim().split(/\s+/);
        const listening = f[3] === "0A";
        if (listening && parseInt(f[1]?.split(":")[1] ?? "", 16) === port) wanted.add(`socket:[${f[9]}]`);
      }
    }
    if (wanted.size === 0) return undefined;
    for (const pid of readdirSync("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      if (openFiles(pid).some((file) => wanted.has(file))) return `pid ${pid} (${read(`/proc/${pid}/comm`).trim()})`;
    }
  } catch {
    // Not Linux, or /proc is hidden: the address alone must do.
  }
  return undefined;
}

function openFiles(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        return "";
      }
    });
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
