import { dirname, join } from "node:path";
import process from "node:process";
import { CoreError } from "../../../core/error.ts";
import type { Ini } from "../fpm_config.ts";
import { openDoor } from "../native/door.ts";
import { nativeLaunch } from "../native/launch.ts";
import { closedTo } from "../readable.ts";
import { runAs } from "../run_as.ts";
import { fillWorkerFolder } from "../worker_folder.ts";
import { environment, type Launcher, type LauncherOptions } from "../worker_launch.ts";
import { embedCommand } from "./command.ts";
import { findPhpNode, packageName } from "./php_node.ts";

/**
 * Starts processes that have PHP within them, for a machine without PHP. Each request is a fresh one, as with php-fpm; there is no
 * OPcache, and bodies and responses are held in memory whole.
 *
 * @throws CoreError `PHP_EMBED` where the package is not installed or cannot be used, `PHP_USER`, `PHP_CONFIG`, `PHP_START`
 */
export async function makeEmbedLauncher(options: LauncherOptions): Promise<Launcher> {
  const { settings, baseDir, log } = options;
  const phpNode = findEmbedded(baseDir);
  if (phpNode === undefined) {
    const text = `engine = "embed" needs the npm package ${packageName}: npm install ${packageName} in the folder of ` +
      "the configuration, or install php-fpm and leave engine out";
    throw new CoreError("PHP_EMBED", text);
  }
  const user = runAs(settings.user, settings.group);
  const command = embedCommand(phpNode);
  for (const path of [command.argv[0], phpNode]) {
    const closed = user === undefined ? undefined : closedTo(user, path);
    if (closed === undefined) continue;
    const text =
      `PHP would run as ${user!.name}, who may not enter ${closed}, where ${path} is; move that to where it may, ` +
      "set php.user, or do not start the server as root";
    throw new CoreError("PHP_EMBED", text);
  }
  const door = await openDoor({ software: options.software, user });
  try {
    const folder = fillWorkerFolder(dirname(door.path), iniOf(settings.ini), user);
    log("info", "PHP in processes of the server", { package: phpNode });
    const launch = nativeLaunch({
      command,
      door,
      env: {
        ...environment(settings, user),
        FAIRLEAD_PHP: folder.php,
        PHP_INI_SCAN_DIR: join(folder.ini),
      },
      cwd: "/",
      user,
      scheduling: settings.scheduling,
    });
    return {
      folder,
      user,
      protocol: "embed",
      // Each with an identity of its own: a reload replaces all.
      begin: () => ({ launch: (events) => launch(events), retire: () => Promise.resolve() }),
      close: () => door.close(),
    };
  } catch (error) {
    door.close();
    throw error;
  }
}

/** Functions that `runtime/stand_ins.php` has its own for: the package's know nothing of the request, or too much. */
const replaced = [
  "apache_request_headers",
  "is_uploaded_file",
  "move_uploaded_file",
  "filter_has_var",
  "filter_input",
  "filter_input_array",
];

/** What the php.ini that PHP recommends for production says: the package comes with none. */
const production: Ini = {
  expose_php: false,
  display_errors: false,
  log_errors: true,
  output_buffering: 4096,
  request_order: "GP",
  variables_order: "GPCS",
};

function iniOf(site: Ini): Ini {
  const off = [site["disable_functions"], ...replaced].map((names) => String(names ?? "").trim()).filter(Boolean);
  return { ...production, ...site, disable_functions: off.join(",") };
}

/** The package, beside the configuration, where the server was started, or beside the server itself. */
export function findEmbedded(baseDir: string): string | undefined {
  return findPhpNode([baseDir, process.cwd(), import.meta.dirname ?? "/"]);
}
