import { CoreError } from "./error.ts";
import type { Exchange } from "./exchange.ts";
import type { Awaitable, HookName, Hooks, PluginHooks } from "./plugin.ts";

/** One plugin's handler for one hook. */
export interface Entry<F> {
  readonly plugin: string;
  readonly run: F;
}

export type HookTable = { readonly [H in HookName]: readonly Entry<Hooks[H]>[] };

/** How each hook runs; `first`, `series`, `settle` and `wrap` are the functions below, a gate is a `first`. */
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

/** Sorts every plugin's hooks into dense arrays, once, before the first request. */
export function buildTable(plugins: readonly { readonly name: string; readonly hooks: PluginHooks }[]): HookTable {
  const table: Record<string, Entry<unknown>[]> = {};
  for (const hook of Object.keys(kinds) as HookName[]) {
    const pre: Entry<unknown>[] = [], normal: Entry<unknown>[] = [], post: Entry<unknown>[] = [];
    for (const { name, hooks } of plugins) {
      const h = hooks[hook];
      if (h === undefined) continue;
      if (typeof h === "function") normal.push({ plugin: name, run: h });
      else (h.order === "pre" ? pre : post).push({ plugin: name, run: h.handler });
    }
    table[hook] = [...pre, ...normal, ...post];
  }
  for (const { name, hooks } of plugins) {
    for (const hook of Object.keys(hooks)) {
      if (!(hook in kinds)) {
        throw new CoreError(
          "HOOK_UNKNOWN",
          `${name} returned a hook named "${hook}"; hooks are ${Object.keys(kinds)}`,
          {
            plugin: name,
          },
        );
      }
    }
  }
  return table as unknown as HookTable;
}

/** Whether a value must be waited for; promises of other realms and libraries count. */
export function thenable(v: unknown): v is PromiseLike<unknown> {
  return typeof v === "object" && v !== null && typeof (v as PromiseLike<unknown>).then === "function";
}

/** `await` that stays synchronous when it can. */
export function then<T, R>(v: Awaitable<T>, f: (v: T) => Awaitable<R>): Awaitable<R> {
  return thenable(v) ? (v as Promise<T>).then(f) : f(v as T);
}

/** Tries entries in order until one returns something; becomes asynchronous only at the first promise. */
export function first<A extends unknown[], R>(
  hook: HookName,
  entries: readonly Entry<(...args: A) => Awaitable<R | void>>[],
  args: A,
  from: number = 0,
): Awaitable<R | undefined> {
  for (let i = from; i < entries.length; i++) {
    const e = entries[i]!;
    let r: Awaitable<R | void>;
    try {
      r = e.run(...args);
    } catch (cause) {
      throw CoreError.at(e.plugin, hook, cause);
    }
    if (thenable(r)) {
      return (r as Promise<R | void>).then(
        (v) => v === undefined ? first(hook, entries, args, i + 1) : v as R,
        (cause) => {
          throw CoreError.at(e.plugin, hook, cause);
        },
      );
    }
    if (r !== undefined) return r as R;
  }
  return undefined;
}

/** Runs entries one after another and stops at the first failure. */
export function series<A extends unknown[]>(
  hook: HookName,
  entries: readonly Entry<(...args: A) => Awaitable<void>>[],
  args: A,
): Awaitable<void> {
  return first<A, never>(hook, entries, args);
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
  return entries.reduceRight<(x: Exchange) => Awaitable<Response>>(
    (next, { run }) => (x) => run(x, () => next(x)),
    inner,
  );
}
