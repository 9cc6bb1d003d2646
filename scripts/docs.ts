// The reference pages, made from what the server itself knows: the schemas that check a configuration, and the metrics
// that the built-in plugins have registered once all of them are set up. No PHP and no socket is needed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { loadTables } from "../cli/prepare.ts";
import { configReference } from "./config_reference.ts";
import { metricsTable } from "../plugins/metrics/docs.ts";
import { registeredMetrics } from "./registered_metrics.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const generated = "<!-- Written by `npm run docs`; edit scripts/docs.ts or the code it reads. -->\n\n";

const configurationHead = `# Configuration

One TOML file, \`fairlead.toml\`. Every table is optional, and so is every key that is not marked as required. An
unknown key is an error; the error names the line, the key and the nearest known key.

- The file is the one named by \`-c\`, else by \`FAIRLEAD_CONFIG\`, else \`./fairlead.toml\` if it exists.
- \`fairlead check -c FILE\` validates it and prints every value in effect and where it comes from.
- \`fairlead schema -c FILE\` prints a JSON Schema for editors, with the tables of the plugins that the file names.
- Relative paths start at the folder of the file.
- A duration is text with a unit: \`"250ms"\`, \`"1.5s"\`, \`"5m"\`, \`"1h"\`, or 0. A size is \`"512B"\`, \`"64KB"\`, \`"10MB"\`,
  \`"1GB"\` (1 KB is 1024 bytes), or a whole number of bytes.
- An environment variable \`FAIRLEAD_TABLE__KEY\` overrides \`key\` in \`[table]\`; arrays and tables are written as JSON:
  \`FAIRLEAD_SERVER__LISTEN='["127.0.0.1:8081"]'\`. For keys that hold a secret, \`FAIRLEAD_TABLE__KEY_FILE\` names a file
  that holds the value.
- A third-party plugin has the table \`[plugins.NAME]\` with \`use = "./plugin.ts"\` or \`use = "npm:package"\`. Plugins are
  named in the file only, never in the environment.

`;

const metricsHead = `# Metrics

What the admin listener shows at \`/metrics\` with the built-in plugins, in Prometheus text 0.0.4 or OpenMetrics 1.0.
[operations.md](operations.md) says which of them to watch, the [dashboard](../plugins/dashboard/README.md) draws them, and
[examples/monitoring](../examples/monitoring/README.md) has alert rules and a Grafana dashboard.

A label value that no request has had yet has no line. A gauge is read when it is scraped.

`;

const { tables } = await loadTables(undefined);
const pages: Readonly<Record<string, string>> = {
  "docs/configuration.md": generated + configurationHead + configReference(tables),
  "docs/metrics.md": generated + metricsHead + metricsTable(await registeredMetrics()),
};

const stale: string[] = [];
for (const [name, text] of Object.entries(pages)) {
  const path = join(root, name);
  let before = "";
  try {
    before = readFileSync(path, "utf8");
  } catch {
    // Not written yet.
  }
  if (before === text) continue;
  stale.push(relative(root, path));
  if (process.argv.includes("--check")) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(`wrote ${name}`);
}
if (process.argv.includes("--check") && stale.length > 0) {
  console.error(`${stale.join(", ")}: out of date; run npm run docs`);
  process.exit(1);
}
