/** What a process of `engine = "embed"` runs on Bun and on Deno; the single binary runs itself with `php-embed`. */
import process from "node:process";
import { runEmbedHost } from "./host.ts";

process.exit(await runEmbedHost());
