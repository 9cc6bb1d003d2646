import { describe, expect, test } from "bun:test";
import { noMeter } from "../../../core/contracts/meter.ts";
import { Registry } from "../../../plugins/metrics/registry.ts";
import { errorClasses } from "../../../plugins/dbproxy/stats/error_classes.ts";
import { dbMetrics } from "../../../plugins/dbproxy/stats/metrics.ts";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import { parseMetrics } from "../../support/server.ts";
import { fakePool } from "./fake_report.ts";

function registered(names: readonly string[]) {
  const registry = new Registry({
    onError: (metric, error) => {
      throw new Error(`${metric}: ${error}`);
    },
  });
  const count = dbMetrics(registry, () => names.map((name) => ({ name, pool: () => fakePool })));
  return { counts: names.map(count), shown: () => parseMetrics(registry.expose()), text: () => registry.expose() };
}

describe("dbMetrics", () => {
  test("shows the pools as they are", () => {
    const { shown } = registered(["shop", "blog"]);
    const metrics = shown();
    expect(metrics.get('fairlead_db_up{db="shop"}')).toBe(1);
    expect(metrics.get('fairlead_db_backends_limit{db="blog"}')).toBe(20);
    expect(metrics.get('fairlead_db_clients{db="shop",state="waiting"}')).toBe(3);
    expect(metrics.get('fairlead_db_backends{db="shop",state="resetting"}')).toBe(1);
    expect(metrics.get('fairlead_db_oldest_wait_seconds{db="shop"}')).toBe(0.25);
  });

  test("counts what is counted, each in its own database", () => {
    const { counts: [shop], shown } = registered(["shop", "blog"]);
    const c = shop!;
    c.wait.observe(0.001);
    c.seconds.observe(0.002);
    c.refused.full.inc();
    c.resets.inc();
    c.resetsSkipped.inc(2);
    c.resetsFailed.inc();
    c.pins.user_variable.inc();
    c.dials.inc();
    c.dialsFailed.too_many.inc();
    c.closed.lifetime.inc();
    c.slow.inc();
    c.fromClients.inc(100);
    c.toClients.inc(200);
    c.learnedSets.inc();
    c.learnedReads.inc();
    for (const plugin of ["client_ed25519", "toString", "anything else"]) c.authFailed(plugin);
    for (const byte of [COM.QUERY, COM.QUERY, COM.STMT_EXECUTE, 0xfe, 300]) c.command(byte);
    for (const code of [1062, 1586, 1213, 9999]) c.error(code);
    const metrics = shown();
    const value = (name: string, labels = "") => metrics.get(`fairlead_db_${name}{db="shop"${labels}}`);
    expect({
      wait: value("checkout_wait_seconds_count"),
      seconds: value("query_seconds_sum"),
      refused: value("refused_total", ',reason="full"'),
      resets: ["done", "skipped", "failed"].map((outcome) => value("resets_total", `,outcome="${outcome}"`)),
      pins: value("pins_total", ',reason="user_variable"'),
      dials: ["ok", "too_many"].map((outcome) => value("dials_total", `,outcome="${outcome}"`)),
      closed: value("backends_closed_total", ',reason="lifetime"'),
      slow: value("slow_queries_total"),
      bytes: ["from_clients", "to_clients"].map((direction) => value("bytes_total", `,direction="${direction}"`)),
      learned: ["set", "read"].map((kind) => value("learned_total", `,kind="${kind}"`)),
      auth: ["client_ed25519", "other"].map((plugin) => value("auth_failures_total", `,plugin="${plugin}"`)),
      commands: ["query", "stmt_execute", "other"].map((command) => value("commands_total", `,command="${command}"`)),
      errors: ["duplicate", "deadlock", "other"].map((name) => value("errors_total", `,class="${name}"`)),
    }).toEqual({
      wait: 1,
      seconds: 0.002,
      refused: 1,
      resets: [1, 2, 1],
      pins: 1,
      dials: [1, 1],
      closed: 1,
      slow: 1,
      bytes: [100, 200],
      learned: [1, 1],
      auth: [1, 2],
      commands: [2, 1, 2],
      errors: [2, 1, 1],
    });
    const blog = [...metrics].filter(([name, value]) =>
      name.includes('db="blog"') && name.includes("_total") && value > 0
    );
    expect(blog).toEqual([]);
  });

  test("is bounded, and needs no meter", () => {
    const { counts: [shop], text } = registered(["shop"]);
    const lines = text().split("\n").length;
    for (let i = 0; i < 2000; i++) {
      shop!.authFailed(`plugin ${i}`);
      shop!.error(i);
      shop!.command(i);
    }
    expect(text().split("\n").length).toBe(lines);
    dbMetrics(noMeter, () => [])("shop").error(1064);
  });

  test("gives each error code one class", () => {
    const codes = Object.values(errorClasses).flat();
    expect(new Set(codes).size).toBe(codes.length);
  });
});
