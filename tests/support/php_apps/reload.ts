import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { commandOf, type TestServer } from "../server.ts";

/** Has the server reload by its admin listener; what each part answered. */
export async function reload(server: TestServer): Promise<Readonly<Record<string, string>>> {
  const response = await fetch(`${server.adminUrl}/-/reload`, { method: "POST" });
  return (await response.json() as { readonly reloaded: Record<string, string> }).reloaded;
}

/** Runs `fairlead reload`. */
export function reloadCommand(server: TestServer): Promise<{ readonly code: number | null; readonly output: string }> {
  const [program, ...args] = commandOf(server.host);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_")));
  const child = spawn(program!, [...args, "reload", "-c", join(server.dir, "fairlead.toml")], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => output += text);
  }
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, output })));
}
