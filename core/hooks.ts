import { CoreError } from "./error.ts";
import type { Exchange } from "./exchange.ts";
import type { Awaitable, HookName, Hooks, PluginHooks } from "./plugin.ts";

/** One plugin's handler for one hook. */
export interface Entry<F> {
  readonly plugin: string;
  readonly run: F;
}

/** The handlers of each hook, in the order in which they run. */
export type HookTable = { readonly [H in HookName]: readonly Entry<Hooks[H]>[] };

/** How each hook runs; `first`, `series`, `settle` and `wrap` are the functions below. */
export const kinds: Readonly<Record<HookName, "series" | "wrap" | "first" | "gate" | "observe" | "settle">> = {
  onListen: "series",
  onRoutes: "series",
  onAdmin: "series",
  onRequest: "wrap",
  onResolve: "first",
  onAdmit: "gate",
  onResponse: "observe",
  onDrain: "settle",
  onClose: "settle",
};

/**
 * Sorts every plugin's hooks into dense arrays, once, before the first request.
 *
 * @throws HOOK_UNKNOWN, HOOK_INVALID
 */
export function buildTable(plugins: readonly { readonly name: string; readonly hooks: PluginHooks }[]): HookTable {
  for (const { name, hooks } of plugins) checkNames(name, hooks);
  const table: Record<string, Entry<unknown>[]> = {};
  for (const hook of Object.keys(kinds) as HookName[]) {
    const pre: Entry<unknown>[] = [], normal: Entry<unknown>[] = [], post: Entry<unknown>[] = [];
    for (const { name, hooks } of plugins) {
      const h = hooks[hook];
      if (h === undefined) continue;
      if (typeof h === "function") normal.push({ plugin: name, run: h });
      else if (typeof h.handler !== "function" || !["pre", "post"].includes(h.order)) {
        const message = `${name}.${hook}: expected a function, or { order: "pre" or "post", handler }`;
        throw new CoreError("HOOK_INVALID", message, { plugin: name, hook });
      } else (h.order === "pre" ? pre : post).push({ plugin: name, run: h.handler });
    }
    table[hook] = [...pre, ...normal, ...post];
  }
  return table as unknown as HookTable;
}

function checkNames(plugin: string, hooks: PluginHooks): void {
  const unknown = Object.keys(hooks).find((hook) => !Object.hasOwn(kinds, hook));
  if (unknown === undefined) return;
  const message = `${plugin} returned a hook named "${unknown}"; hooks are ${Object.keys(kinds).join(", ")}`;
  throw new CoreError("HOOK_UNKNOWN", message, { plugin });
}

/** Whether a value must be waited for; promises of other realms and libraries count. */
export function thenable(v: unknown): v is PromiseLike<unknown> {
  return typeof v === "object" && v !== null && typeof (v as PromiseLike<unknown>).then === "function";
}

/** Fails in the name of a plugin's hook. */
export function blame(plugin: string, hook: HookName, cause: unknown): never {
  throw CoreError.at(plugin, hook, cause);
}

/** Calls a handler with one or two arguments (a spread would cost each request an array), failing in its name. */
export function attempt<A, B, R>(plugin: string, hook: HookName, run: (a: A, b: B) => R, a: A, b: B): R {
  try {
    return run(a, b);
  } catch (cause) {
    return blame(plugin, hook, cause);
  }
}

/** Tries entries in order until one returns something; becomes asynchronous only at the first promise. */
export function first<A, R>(
  hook: HookName,
  entries: readonly Entry<(a: A) => Awaitable<R | void>>[],
  a: A,
  from: number = 0,
): Awaitable<R | undefined> {
  for (let i = from; i < entries.length; i++) {
    const { plugin, run } = entries[i]!;
    const r = attempt(plugin, hook, run, a, undefined);
    if (thenable(r)) {
      return (r as Promise<R | void>).then(
        (v) => v === undefined ? first(hook, entries, a, i + 1) : v as R,
        (cause) => blame(plugin, hook, cause),
      );
    }
    if (r !== undefined) return r as R;
  }
  return undefined;
}

/** Runs entries one after another and stops at the first failure. What they return is of no account. */
export async function series<A>(
  hook: HookName,
  entries: readonly Entry<(a: A) => Awaitable<void>>[],
  a: A,
): Promise<void> {
  for (const { plugin, run } of entries) {
    try {
      await run(a);
    } catch (cause) {
      blame(plugin, hook, cause);
    }
  }
}

/** Runs every entry at once, whatever the others do, and returns what failed. */
export async function settle<A extends unknown[]>(
  hook: HookName,
  entries: readonly Entry<(...args: A) => Awaitable<void>>[],
  args: A,
): Promise<CoreError[]> {
  const ends = await Promise.allSettled(entries.map(async (e) => await e.run(...args)));
  return ends.flatMap((end, i) =>
    end.status === "rejected" ? [CoreError.at(entries[i]!.plugin, hook, end.reason)] : []
  );
}

/** Runs every entry one after another, whatever fails, and returns what failed. */
export async function settleInOrder<A extends unknown[]>(
  hook: HookName,
  entries: readonly Entry<(...args: A) => Awaitable<void>>[],
  args: A,
): Promise<CoreError[]> {
  const failed: CoreError[] = [];
  for (const e of entries) failed.push(...await settle(hook, [e], args));
  return failed;
}

/** Folds wrapping entries around `inner`: the fold is paid once, not per request. */
export function wrap(
  entries: readonly Entry<Hooks["onRequest"]>[],
  inner: (x: Exchange) => Awaitable<Response>,
): (x: Exchange) => Awaitable<Response> {
  return entries.reduceRight<(x: Exchange) => Awaitable<Response>>((next, entry) => around(entry, next), inner);
}

/** One wrapping entry. It answers for its own failures, and hands on those of what it wraps as they are. */
function around(
  { plugin, run }: Entry<Hooks["onRequest"]>,
  next: (x: Exchange) => Awaitable<Response>,
): (x: Exchange) => Awaitable<Response> {
  return (x) => {
    let inner: Awaitable<Response> | undefined, thrown: { readonly cause: unknown } | undefined;
    const goOn = () => {
      try {
        return inner = next(x);
      } catch (cause) {
        thrown = { cause };
        throw cause;
      }
    };
    let answer: Awaitable<Response>;
    try {
      answer = run(x, goOn);
    } catch (cause) {
      if (thrown?.cause === cause) throw cause;
      return blame(plugin, "onRequest", cause);
    }
    // Most hand on the very promise that they were given.
    if (answer === inner || !thenable(answer)) return answer;
    return answer.then(undefined, async (cause) => {
      const within = thrown ?? await Promise.resolve(inner).then(() => undefined, (cause) => ({ cause }));
      if (within !== undefined && within.cause === cause) throw cause;
      return blame(plugin, "onRequest", cause);
    });
  };
}
