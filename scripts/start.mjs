// `npm start`: sets up what is missing and serves examples/hello.
import { spawn } from "node:child_process";
import { bun, npmPackages, phpNeeds, root, systemPackages } from "./setup.mjs";

npmPackages();
systemPackages(phpNeeds);

const args = ["--smol", "run", "mod.ts", "serve", "-c", "examples/hello/fairlead.toml", ...process.argv.slice(2)];
const server = spawn(bun, args, { cwd: root, stdio: "inherit" });
// npm passes signals on to us only: hand them to the server and end with it.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
// The terminal was closed.
process.on("SIGHUP", () => server.kill("SIGTERM"));
server.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
