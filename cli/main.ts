import { embedVerb } from "../plugins/php/embed/command.ts";
import { CoreError } from "../core/error.ts";
import { runtime, version } from "../core/version.ts";
import { check } from "./check.ts";
import { db } from "./db.ts";
import { reload } from "./reload.ts";
import { restart } from "./restart.ts";
import { schema } from "./schema.ts";
import { serve } from "./serve.ts";
import { top } from "./top.ts";

/** A verb: takes the arguments after its name, returns the exit code. */
type Verb = (args: readonly string[]) => Promise<number>;

const verbs: Readonly<Record<string, { readonly run: Verb; readonly says: string }>> = {
  serve: { run: serve, says: "serve -c FILE       serve what the configuration says (default ./fairlead.toml)" },
  check: {
    run: check,
    says: "check -c FILE       validate and print the effective configuration and where it comes from",
  },
  reload: {
    run: reload,
    says: "reload [-c FILE]    have a running server boot new PHP workers on new code, losing no request",
  },
  restart: {
    run: restart,
    says: "restart [-c FILE]   have a running server replaced by a new one with the new settings, refusing nobody",
  },
  schema: { run: schema, says: "schema [-c FILE]    print a JSON Schema of the configuration, for editors" },
  top: { run: top, says: "top [-c FILE]       watch a running server: requests, waiting, PHP processes, refusals" },
  db: { run: db, says: "db top [-c FILE]    watch a running server's database pools and its costliest statements" },
  version: { run: printVersion, says: "version             print the version and the runtime" },
};

const usage = `fairlead: the server that PHP teams run

${Object.values(verbs).map((v) => `  fairlead ${v.says}`).join("\n")}

Options of every verb: --help
`;

/** Runs the command line and returns the exit code: 0 fine, 1 failed, 2 used or configured wrongly. */
export async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    console.log(usage);
    return name === undefined ? 2 : 0;
  }
  // Not a verb for people: the binary starts itself so.
  if (name === embedVerb) return await (await import("../plugins/php/embed/host.ts")).runEmbedHost();
  if (name === "--version" || name === "-v") return await printVersion();
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) {
    console.error(`fairlead: unknown command "${name}"; expected ${Object.keys(verbs).join(", ")}`);
    return 2;
  }
  if (rest.includes("--help") || rest.includes("-h")) {
    console.log(`fairlead ${verb.says}`);
    return 0;
  }
  try {
    return await verb.run(rest);
  } catch (error) {
    return complain(error);
  }
}

/** Prints what went wrong: a coded error as its message alone, anything else with its stack. */
function complain(error: unknown): number {
  if (!(error instanceof CoreError)) {
    console.error(error);
    return 1;
  }
  console.error(`fairlead: ${error.message} [${error.code}]`);
  if (error.code === "PLUGIN_FAILED" && error.cause instanceof Error) console.error(error.cause.stack);
  return /^(CONFIG|PLUGIN_NOT_LOADED|PLUGIN_INVALID|USAGE)/.test(error.code) ? 2 : 1;
}

function printVersion(): Promise<number> {
  console.log(`fairlead ${version} (${runtime()})`);
  return Promise.resolve(0);
}
