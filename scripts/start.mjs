// `npm start`: sets up what is missing and serves examples/hello.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { closed, openCopy } from "./readable.mjs";
import { bun, canHave, embeddedPhp, npmPackages, phpNeeds, root, systemPackages } from "./setup.mjs";

npmPackages();
if (canHave(phpNeeds)) systemPackages(phpNeeds);
else embeddedPhp();

let site = "examples/hello";
let copy;
// A clone in root's own home is no rare thing.
const barrier = process.getuid?.() === 0 ? closed(join(root, site)) : undefined;
if (barrier !== undefined) {
  copy = openCopy(join(root, site));
  console.error(`PHP does not run as root and may not read ${barrier}: serving a copy of ${site} in ${copy.path}`);
  site = copy.path;
}

const args = ["--smol", "run", "cli/fairlead.ts", "serve", "-c", join(site, "fairlead.toml"), ...process.argv.slice(2)];
const server = spawn(bun, args, { cwd: root, stdio: "inherit" });
// npm passes signals on to us only: hand them to the server and end with it.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
// The terminal was closed.
process.on("SIGHUP", () => server.kill("SIGTERM"));
server.on("exit", (code, signal) => {
  copy?.remove();
  process.exit(code ?? (signal === "SIGINT" ? 130 : 1));
});
