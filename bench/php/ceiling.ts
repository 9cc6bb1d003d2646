/**
 * The page in a loop inside PHP, in as many processes as there are workers: what nothing around it could do better.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { environment, type Page, type Site } from "./sites.ts";

export interface Ceiling {
  /** Pages a second, of all processes together. */
  readonly throughput: number;
}

export interface CeilingOptions {
  readonly site: Site;
  readonly page: Page;
  readonly processes: number;
  readonly seconds: number;
  readonly ini: string;
}

const loops = fileURLToPath(new URL("./loops/", import.meta.url));

export async function ceiling({ site, page, processes, seconds, ini }: CeilingOptions): Promise<Ceiling> {
  const one = () =>
    new Promise<number>((resolve, reject) => {
      const args = [
        "-d",
        "opcache.enable_cli=1",
        join(loops, `${site.loop}.php`),
        site.root,
        page.path,
        String(seconds),
      ];
      const env = { ...process.env, PHPRC: ini, ...environment(site) };
      const child = spawn("php", args, { env, stdio: ["ignore", "ignore", "pipe"] });
      let words = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => words += text);
      child.on("error", reject);
      child.on("close", (code) => {
        const last = words.trim().split("\n").at(-1) ?? "";
        if (code !== 0 || !last.startsWith("{")) {
          return reject(new Error(`The loop of ${page.name} ended with ${code}: ${words}`));
        }
        const told = JSON.parse(last) as { readonly count: number; readonly seconds: number };
        resolve(told.count / told.seconds);
      });
    });
  const rates = await Promise.all(Array.from({ length: processes }, one));
  return { throughput: rates.reduce((sum, rate) => sum + rate, 0) };
}
