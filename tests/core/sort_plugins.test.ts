import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type AnyPlugin, token } from "../../core/plugin.ts";
import { sortPlugins } from "../../core/sort_plugins.ts";
import { anything } from "../../core/standard_schema.ts";

const plugin = (name: string, rest: Partial<AnyPlugin> = {}): AnyPlugin => ({
  name,
  api: 1,
  config: anything,
  setup() {},
  ...rest,
});
const A = token<number>("a@1"), B = token<number>("b@1");
const names = (plugins: readonly AnyPlugin[], offered: string[] = []) =>
  sortPlugins(plugins, offered).map((p) => p.name);
const code = (plugins: readonly AnyPlugin[], offered: string[] = []) => {
  try {
    sortPlugins(plugins, offered);
    return undefined;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe("plugin order", () => {
  test("services come before those who need or want them; ties keep their order", () => {
    expect(
      names([
        plugin("x", { needs: [A] }),
        plugin("y", { wants: [B] }),
        plugin("b", { provides: [B] }),
        plugin("a", { provides: [A] }),
      ]),
    )
      .toEqual(["a", "x", "b", "y"]);
  });

  test("each way to be wrong has its code", () => {
    expect(code([plugin("x", { needs: [A] })])).toBe("SERVICE_MISSING");
    expect(code([plugin("x", { needs: [A] })], ["a@1"])).toBe(undefined);
    expect(code([plugin("x", { wants: [A] })])).toBe(undefined);
    expect(code([plugin("x", { provides: [A] }), plugin("y", { provides: [A] })])).toBe("SERVICE_TAKEN");
    expect(code([plugin("x", { provides: [A] })], ["a@1"])).toBe("SERVICE_TAKEN");
    expect(code([plugin("x", { provides: [A], needs: [B] }), plugin("y", { provides: [B], needs: [A] })])).toBe(
      "PLUGIN_CYCLE",
    );
    expect(code([plugin("x", { api: 2 as never })])).toBe("PLUGIN_API");
    expect(code([plugin("x"), plugin("x")])).toBe("PLUGIN_TAKEN");
  });

  test("any acyclic set is sorted so that every need comes first", () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(9), { maxLength: 3 }), { maxLength: 10 }), fc.nat(), (edges, turn) => {
        // Plugin i provides service i and needs only lower ones, so there is no cycle; then the list is rotated.
        const plugins = edges.map((lower, i) =>
          plugin(`p${i}`, { provides: [token(`s${i}`)], needs: lower.filter((j) => j < i).map((j) => token(`s${j}`)) })
        );
        const k = plugins.length === 0 ? 0 : turn % plugins.length;
        const sorted = sortPlugins([...plugins.slice(k), ...plugins.slice(0, k)]);
        const place = new Map(sorted.map((p, i) => [p.name, i]));
        for (const p of sorted) {
          for (const t of p.needs ?? []) expect(place.get(`p${t.id.slice(1)}`)!).toBeLessThan(place.get(p.name)!);
        }
        expect(sorted.length).toBe(plugins.length);
      }),
    );
  });
});
