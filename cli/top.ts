import process from "node:process";
import { parseArgs } from "node:util";
import { CoreError } from "../core/error.ts";
import type { Address } from "../core/http/address.ts";
import { Watch } from "../plugins/dashboard/figures/watch.ts";
import type { Ready, Whoami } from "../plugins/dashboard/page/answers.ts";
import { adminAddress, readAdmin } from "./admin_client.ts";
import { prepare } from "./prepare.ts";
import { paint } from "./top_paint.ts";
import { drawTop, type TopView } from "./top_screen.ts";

const expected = "expected [-c FILE | --admin ADDRESS] [--once]";

/** Time (ms) between two looks. */
const pause = 2000;

/**
 * `fairlead top`: what the dashboard shows, in a terminal, drawn anew every two seconds until Ctrl+C. With `--once`, and where
 * there is no terminal, it is printed once, after two looks: rates need both.
 */
export async function top(args: readonly string[]): Promise<number> {
  const { admin, config, once = false } = readArguments(args);
  const place = admin === undefined ? await configured(config) : { at: adminAddress(admin), metricsPath: "/metrics" };
  const live = process.stdout.isTTY && !once;
  const watch = new Watch();
  let view: TopView = { watch, now: Date.now() };
  for (let looks = 1;; looks++) {
    view = await look(place, watch, view).catch((error) => {
      // Once it has worked, a server that restarts is waited for.
      if (looks === 1 || !live) throw error;
      watch.miss(performance.now());
      return { ...view, problem: (error as Error).message };
    });
    // An empty NO_COLOR is none: https://no-color.org
    const { columns = 80, rows = 30 } = process.stdout, { NO_COLOR = "", TERM } = process.env;
    if (live) console.log(paint(drawTop(view), { columns, rows, colour: NO_COLOR === "" && TERM !== "dumb" }));
    else if (looks === 2) {
      console.log(drawTop(view).map(({ text }) => text).join("\n"));
      return 0;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function readArguments(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        config: { type: "string", short: "c" },
        admin: { type: "string" },
        once: { type: "boolean" },
      },
      strict: true,
    });
    if (values.admin !== undefined && values.config !== undefined) throw new Error("-c and --admin exclude each other");
    return values;
  } catch (cause) {
    throw new CoreError("USAGE", `${(cause as Error).message}; ${expected}`, { cause });
  }
}

/** Where to ask. */
interface Place {
  readonly at: Address;
  readonly metricsPath: string;
}

async function configured(file: string | undefined): Promise<Place> {
  const { admin: { listen }, config } = (await prepare(file)).options;
  const { path } = config["metrics"] as { readonly path: string };
  if (listen !== "") return { at: adminAddress(listen), metricsPath: path };
  throw new CoreError(
    "ADMIN_OFF",
    "The configuration switches the admin listener off; expected an address in admin.listen",
  );
}

async function look({ at, metricsPath }: Place, watch: Watch, before: TopView): Promise<TopView> {
  const [metrics, ready, whoami] = await Promise.all([
    readAdmin(at, metricsPath),
    readAdmin(at, "/readyz"),
    readAdmin(at, "/-/whoami"),
  ]);
  if (metrics.status !== 200) {
    // One that asks for another name says so.
    const why = parse<{ readonly error?: string }>(metrics.text)?.error ?? "are these its metrics?";
    throw new CoreError("ADMIN_REFUSED", `The server answered ${metrics.status} to ${metricsPath}; ${why}`);
  }
  watch.take(performance.now(), metrics.text);
  return {
    watch,
    now: Date.now(),
    frame: watch.history.last ?? before.frame,
    ready: parse<Ready>(ready.text),
    whoami: parse<Whoami>(whoami.text),
  };
}

/** What is no JSON is of another server: the metrics alone are shown then. */
function parse<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
