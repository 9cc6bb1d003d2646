// `node examples/symfony/start.mjs`: has composer fetch what this small Symfony application requires, the first time, and serves it.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { composer, phpForFrameworks, serveExample } from "../serve.mjs";

const folder = dirname(fileURLToPath(import.meta.url));

phpForFrameworks();
if (!existsSync(join(folder, "vendor/autoload_runtime.php"))) {
  composer(["update", "--no-dev", "--classmap-authoritative"], folder);
}
mkdirSync(join(folder, "var"), { recursive: true });
serveExample(folder, { readable: folder, writable: [join(folder, "var")] });
