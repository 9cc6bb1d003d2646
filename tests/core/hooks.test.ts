import { describe, expect, test } from "bun:test";
import { CoreError } from "../../core/error.ts";
import { buildTable, first, series, settle, settleInOrder, wrap } from "../../core/hooks.ts";
import type { Exchange } from "../../core/exchange.ts";

const entry = <F>(run: F, plugin = "p") => ({ plugin, run });

describe("hook kinds", () => {
  test("first stays synchronous until a promise appears", async () => {
    const order: number[] = [];
    const sync = first("onResolve", [entry(() => void order.push(1)), entry(() => 2)], undefined);
    expect(sync).toBe(2);
    const mixed = first("onResolve", [
      entry(() => void order.push(3)),
      entry(() => Promise.resolve(undefined)),
      entry(() => 4),
      entry(() => void order.push(5)),
    ], undefined);
    expect(mixed instanceof Promise).toBe(true);
    expect(await mixed).toBe(4);
    expect(order).toEqual([1, 3]);
  });

  test("a failure names the plugin and the hook, once, and keeps a code it already had", async () => {
    const bad = [entry(() => {
      throw new Error("broken");
    }, "geo")];
    expect(() => first("onResolve", bad, undefined)).toThrow("geo.onResolve: broken");
    const coded = [entry(() => Promise.reject(new CoreError("MY_CODE", "mine")), "geo")];
    const error = await Promise.resolve(first("onResolve", coded, undefined)).catch((e) => e);
    expect(error.code).toBe("MY_CODE");
  });

  test("series stops at the first failure", async () => {
    const seen: string[] = [];
    const entries = [
      entry(async () => void seen.push("a")),
      entry(() => Promise.reject(new Error("no")), "b"),
      entry(() => void seen.push("c")),
    ];
    const error = await Promise.resolve(series("onListen", entries, undefined)).catch((e) => e);
    expect(error.message).toBe("b.onListen: no");
    expect(seen).toEqual(["a"]);
  });

  test("series takes no value for an end", async () => {
    const seen: string[] = [];
    await series("onListen", [entry(() => (seen.push("a"), 1) as never), entry(() => void seen.push("b"))], undefined);
    expect(seen).toEqual(["a", "b"]);
  });

  test("settle runs all whatever fails; settleInOrder one after another", async () => {
    const seen: string[] = [];
    const entries = [
      entry(() => {
        throw new Error("x");
      }, "a"),
      entry(async () => void seen.push("b")),
    ];
    expect((await settle("onDrain", entries, [])).map((e) => e.plugin)).toEqual(["a"]);
    expect((await settleInOrder("onClose", entries, [])).map((e) => e.plugin)).toEqual(["a"]);
    expect(seen).toEqual(["b", "b"]);
  });

  test("wrap folds outside in", async () => {
    const seen: string[] = [];
    const layer = (name: string) =>
      entry((_x: Exchange, next: () => Response | Promise<Response>) => {
        seen.push(name);
        return next();
      });
    const run = wrap([layer("outer"), layer("inner")], () => new Response(seen.join()));
    expect(await (await run({} as Exchange)).text()).toBe("outer,inner");
  });

  test("wrap names the plugin that failed, and none that it passed through", async () => {
    const fails = (how: "throws" | "rejects") =>
      how === "throws"
        ? () => {
          throw new Error("inside");
        }
        : () => Promise.reject(new Error("inside"));
    const passes = entry((_x: Exchange, next: () => Response | Promise<Response>) => next(), "passes");
    const awaits = entry(async (_x: Exchange, next: () => Response | Promise<Response>) => await next(), "awaits");
    const told = async (entries: Parameters<typeof wrap>[0], inner: Parameters<typeof wrap>[1]) => {
      try {
        await wrap(entries, inner)({} as Exchange);
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const how of ["throws", "rejects"] as const) {
      expect(await told([awaits, passes], fails(how))).toBe("inside");
      expect(await told([passes, awaits], fails(how))).toBe("inside");
      expect(await told([awaits, passes, entry(fails(how), "bad"), awaits], () => new Response())).toBe(
        "bad.onRequest: inside",
      );
    }
    const after = entry(async (_x: Exchange, next: () => Response | Promise<Response>) => {
      await next();
      throw new Error("mine");
    }, "after");
    expect(await told([passes, after], () => new Response())).toBe("after.onRequest: mine");
  });

  test("the table sorts pre, plain and post, and refuses a hook it does not know", () => {
    const table = buildTable([
      { name: "late", hooks: { onClose: { order: "post", handler() {} } } },
      { name: "plain", hooks: { onClose() {} } },
      { name: "early", hooks: { onClose: { order: "pre", handler() {} } } },
    ]);
    expect(table.onClose.map((e) => e.plugin)).toEqual(["early", "plain", "late"]);
    expect(() => buildTable([{ name: "x", hooks: { onClsoe() {} } as never }])).toThrow('hook named "onClsoe"');
    for (const hook of [{ order: "early", handler() {} }, { order: "pre" }, {}]) {
      expect(() => buildTable([{ name: "x", hooks: { onClose: hook } as never }])).toThrow(
        "x.onClose: expected a function",
      );
    }
  });
});
