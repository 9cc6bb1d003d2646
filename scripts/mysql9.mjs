// Makes a folder with MySQL 9 (server, client and router) that is run in a chroot, for tests that need today's MySQL on a
// distribution that has none: `node scripts/mysql9.mjs [FOLDER]`, as root on Debian. Elsewhere run MySQL 9 in Docker and
// give the tests no such folder: they skip. Nothing but the folder is changed, and nothing is started.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2] ?? process.env.TEST_MYSQL9 ?? "/srv/fairlead-mysql9";

function fail(sentence) {
  console.error(`mysql9: ${sentence}`);
  process.exit(1);
}

/** The Debian mirror that this machine's apt uses. */
function mirror() {
  const parts = "/etc/apt/sources.list.d";
  const files = [
    "/etc/apt/sources.list",
    ...(existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : []),
  ];
  for (const file of files.filter(existsSync)) {
    const text = readFileSync(file, "utf8").replace(/^\s*#.*$/gm, "");
    const found = /(?:^URIs:|^deb(?:\s+\[[^\]]*\])?)\s+(https?:\/\/\S+\/debian\/?)(?=\s|$)/m.exec(text);
    if (found) return found[1];
  }
  return fail("no Debian mirror in apt's sources");
}

if (existsSync(join(folder, "usr/sbin/mysqld"))) {
  console.log(`${folder} is there`);
  process.exit(0);
}
if (process.getuid?.() !== 0) fail("must be root; use Docker's mysql:9 otherwise");
if (spawnSync("debootstrap", ["--version"]).status !== 0) fail("please install debootstrap");

// A folder that is there is complete: it gets its name in the end.
const part = `${folder}.part`;
rmSync(part, { recursive: true, force: true });
const args = ["--variant=minbase", "--include=mysql-server,mysql-router", "sid", part, mirror()];
const { status } = spawnSync("debootstrap", args, { stdio: "inherit" });
if (status !== 0) fail(`debootstrap ended with ${status}; see ${part}/debootstrap/debootstrap.log`);
renameSync(part, folder);
console.log(`${folder} is ready`);
