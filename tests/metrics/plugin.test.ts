import { describe, expect, test } from "bun:test";
import { HealthBoard } from "../../core/health.ts";
import { exchange, load, type Loaded, outcome } from "./fakes.ts";
import { type ParsedMetric, parseExposition } from "./parse.ts";
import { waitFor } from "../support/wait.ts";

async function scrape({ admin }: Loaded): Promise<Map<string, ParsedMetric>> {
  const response = await admin.request("/metrics");
  expect(response.status).toBe(200);
  return parseExposition(await response.text());
}

describe("the metrics plugin", () => {
  test("counts exchanges by method, status and handler", async () => {
    const loaded = await load();
    const seen = [
      [exchange(), outcome({ bytes: 100, ms: 0.25 })],
      [exchange(), outcome({ bytes: 20, ms: 3 })],
      [exchange({ method: "BREW", handler: "php" }), outcome({ status: 418, ms: 70_000 })],
      [exchange({ method: "get", handler: "php" }), outcome({ status: 418 })],
      [exchange({ method: "POST", handler: "" }), outcome({ status: 0, error: new Error("left") })],
      [exchange({ method: "POST", handler: "" }), outcome({ status: -1 })],
      [exchange({ method: "POST", handler: "" }), outcome({ status: 200.5 })],
    ] as const;
    for (const [x, out] of seen) {
      loaded.onResponse(x, out);
    }
    const metrics = await scrape(loaded);
    const values = (name: string) =>
      metrics.get(name)!.samples.map(({ labels, value }) => [...Object.values(labels), value]);
    expect(values("fairlead_http_requests_total")).toEqual([
      ["GET", "200", "static", 2],
      ["OTHER", "418", "php", 2],
      ["POST", "0", "none", 3],
    ]);
    expect(values("fairlead_http_response_bytes_total")).toEqual([["none", 0], ["php", 0], ["static", 120]]);
    expect(values("fairlead_http_responses_failed_total")).toEqual([["none", 1], ["php", 0], ["static", 0]]);
    const php = metrics.get("fairlead_http_request_duration_seconds")!.samples.filter((s) =>
      s.labels["handler"] === "php"
    );
    expect(php.filter((s) => s.name.endsWith("_bucket")).map((s) => [s.labels["le"], s.value])).toEqual([
      ["0.00025", 0],
      ["0.0005", 0],
      ["0.001", 1],
      ...["0.002", "0.004", "0.008", "0.016", "0.032", "0.064", "0.128", "0.256", "0.512", "1.024", "2.048"].map((
        le,
      ) => [le, 1]),
      ...["4.096", "8.192", "16.384", "32.768", "65.536"].map((le) => [le, 1]),
      ["+Inf", 2],
    ]);
    expect(php.find((s) => s.name.endsWith("_sum"))!.value).toBe(70.001);
  });

  test("nobody can make labels without end", async () => {
    const loaded = await load();
    for (let i = 0; i < 1000; i++) {
      loaded.onResponse(exchange({ method: `M${i}`, handler: `h${i}` }), outcome({ status: 100 + i % 900 }));
    }
    const metrics = await scrape(loaded);
    const requests = metrics.get("fairlead_http_requests_total")!.samples;
    expect(requests.length).toBe(501);
    expect(requests.reduce((sum, sample) => sum + sample.value, 0)).toBe(1000);
    expect(metrics.get("fairlead_http_response_bytes_total")!.samples.length).toBe(51);
  });

  test("shows what the core says is in flight, and nothing when nobody says", async () => {
    const traffic = { inFlight: 0 };
    const loaded = await load({}, { traffic });
    for (const n of [0, 3, 1]) {
      traffic.inFlight = n;
      expect((await scrape(loaded)).get("fairlead_http_requests_in_flight")!.samples[0]!.value).toBe(n);
    }
    expect((await scrape(await load())).has("fairlead_http_requests_in_flight")).toBe(false);
  });

  test("shows what /readyz answers, part by part", async () => {
    const health = new HealthBoard();
    const app = { problem: undefined as string | undefined };
    health.register("db:app", () => app.problem);
    const loaded = await load({}, { health });
    const seen = async () => {
      const metrics = await scrape(loaded);
      const values = (name: string) =>
        metrics.get(name)!.samples.map(({ labels, value }) => [...Object.values(labels), value]);
      return [...values("fairlead_ready"), ...values("fairlead_part_ready")];
    };
    expect(await seen()).toEqual([[0], ["db:app", 1], ["server", 0]]);
    health.hold = undefined;
    expect(await seen()).toEqual([[1], ["db:app", 1], ["server", 1]]);
    app.problem = "no server";
    expect(await seen()).toEqual([[0], ["db:app", 0], ["server", 1]]);
    expect((await scrape(await load())).has("fairlead_ready")).toBe(false);
  });

  test("is on the admin listener only, in the format asked for", async () => {
    const loaded = await load({ path: "/-/numbers" });
    expect(Object.keys(loaded.hooks)).not.toContain("onRoutes");
    expect((await loaded.admin.request("/metrics")).status).toBe(404);
    const text = await loaded.admin.request("/-/numbers");
    expect(text.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text.headers.get("cache-control")).toBe("no-store");
    const open = await loaded.admin.request("/-/numbers", { headers: { accept: "application/openmetrics-text" } });
    expect(open.headers.get("content-type")).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(parseExposition(await open.text(), true).get("fairlead_http_requests")?.type).toBe("counter");
  });

  test("offers a meter whose metrics are shown, and logs a failing one once", async () => {
    const loaded = await load();
    loaded.meter.counter("mine_total", "Mine").inc(3);
    loaded.meter.gauge("broken", "Broken", () => {
      throw new Error("no pool");
    });
    await scrape(loaded);
    const metrics = await scrape(loaded);
    expect(metrics.get("mine_total")!.samples[0]!.value).toBe(3);
    expect(metrics.get("fairlead_metrics_errors_total")!.samples[0]!.value).toBe(2);
    expect(loaded.logged).toEqual([
      ["warn", expect.any(String), { metric: "broken", error: "Error: no pool" }],
    ]);
  });

  test("takes buckets from the config", async () => {
    const loaded = await load({ buckets: [0.1, 1] });
    loaded.onResponse(exchange(), outcome({ ms: 500 }));
    const { samples } = (await scrape(loaded)).get("fairlead_http_request_duration_seconds")!;
    expect(samples.slice(0, 3).map((s) => [s.labels["le"], s.value])).toEqual([["0.1", 0], ["1", 1], ["+Inf", 1]]);
  });

  const bad = [{ path: "metrics" }, { path: "/:all" }, { buckets: [] }, { buckets: [1, 1] }, { buckets: [0] }, {
    pth: "/",
  }];
  for (const config of bad) {
    test(`refuses ${JSON.stringify(config)}`, async () => {
      await expect(load(config)).rejects.toThrow();
    });
  }

  test("samples the event loop from onListen to onClose", async () => {
    const loaded = await load();
    const count = async () => (await scrape(loaded)).get("fairlead_event_loop_lag_seconds")!.samples.at(-1)!.value;
    expect(await count()).toBe(0);
    await loaded.onListen();
    try {
      await waitFor(async () => await count() > 0, { what: "a sample", every: 5 });
    } finally {
      await loaded.onClose();
    }
  });
});
