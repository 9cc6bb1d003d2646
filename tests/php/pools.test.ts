import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import { engineOf, phpTable, poolSettings } from "../../plugins/php/config.ts";
import { poolMatcher, takesAll } from "../../plugins/php/match.ts";
import { detectProtocol } from "../../plugins/php/worker_protocol.ts";

const sites = new VirtualHosts(undefined, {
  "shop.example": { public: "shop", aliases: ["*.shop.example", "sale.example"] },
}, "/");

describe("which pool takes a request", () => {
  const takes = (match: Parameters<typeof poolMatcher>[0], host: string, path: string) =>
    poolMatcher(match)({ host, path, virtualHost: sites.of(host) });

  test("is told by its path, its host, or both", () => {
    expect(takes({ path: ["/api/**"] }, "a", "/api/users")).toBe(true);
    expect(takes({ path: ["/api/**"] }, "a", "/apis")).toBe(false);
    expect(takes({ path: ["/a", "/b/*"] }, "a", "/b/c")).toBe(true);
    expect(takes({ host: ["api.example.com"] }, "API.example.com:8080", "/")).toBe(true);
    expect(takes({ host: ["*.example.com"] }, "x.y.example.com", "/")).toBe(true);
    expect(takes({ host: ["*.example.com"] }, "example.com", "/")).toBe(false);
    expect(takes({ host: ["a"], path: ["/x"] }, "a", "/y")).toBe(false);
    expect(takes({ host: ["a"], path: ["/x"] }, "a", "/x")).toBe(true);
    expect(takes({ host: ["a.b"] }, "axb", "/")).toBe(false);
  });

  test("a host is the same with the dot of a whole domain name", () => {
    expect(takes({ host: ["a.b"] }, "A.b.:80", "/")).toBe(true);
    expect(takes({ host: ["a.b."] }, "a.b", "/")).toBe(true);
  });

  test("the name of an entry of server.hosts is all its names, and an alias that one only", () => {
    const match = { host: ["shop.example"] };
    expect(["shop.example", "SALE.example:81", "a.b.shop.example"].map((host) => takes(match, host, "/")))
      .toEqual([true, true, true]);
    expect(takes(match, "example", "/")).toBe(false);
    expect(takes({ host: ["sale.example"] }, "shop.example", "/")).toBe(false);
    expect(takes({ ...match, path: ["/x"] }, "sale.example", "/y")).toBe(false);
  });

  test("is known beforehand where it takes all of a site", () => {
    const [rest, shop] = sites.all;
    const all = (match: Parameters<typeof poolMatcher>[0]) => [takesAll(match, rest), takesAll(match, shop!)];
    expect(all({ host: ["shop.example"] })).toEqual([false, true]);
    expect(all({ host: ["sale.example"] })).toEqual([false, false]);
    expect(all({ host: ["**"] })).toEqual([false, true]);
    expect(all({ host: ["shop.example"], path: ["/x"] })).toEqual([false, false]);
    expect(all({ path: ["/**"] })).toEqual([false, false]);
  });
});

describe("the settings of a named pool", () => {
  const pool = (table: Record<string, unknown>) => {
    const base = phpTable.parse(table);
    return poolSettings(base, base.pools["x"]!);
  };

  test("have what is said of all pools, and not what is said of one", () => {
    const settings = pool({
      user: "web",
      binary: "/opt/php-fpm",
      concurrency: 9,
      max_requests: 100,
      env: { A: "1", B: "1" },
      ini: { memory_limit: "1G" },
      clear_env: false,
      pools: { x: { match: { path: ["/x"] }, script: "w.php", env: { B: "2" } } },
    });
    expect(settings).toMatchObject({
      user: "web",
      concurrency: 0,
      max_requests: 0,
      clear_env: false,
      env: { A: "1", B: "2" },
      ini: { memory_limit: "1G" },
    });
    expect([engineOf(settings), settings.binary, "match" in settings]).toEqual(["worker", undefined, false]);
  });

  test("take the program of the same kind of engine", () => {
    expect(pool({ binary: "/opt/php-fpm", pools: { x: { match: { path: ["/x"] } } } }).binary).toBe("/opt/php-fpm");
  });

  test("take a table of front controllers, which is nothing for a worker", () => {
    const table = { "/": false as const, "/blog/": "/blog/index.php" };
    const front = (own: Record<string, unknown>) =>
      pool({ front_controller: table, follow: ["/usr/share/pma"], pools: { x: { match: { path: ["/x"] }, ...own } } });
    expect(front({}).front_controller).toEqual(table);
    expect(front({}).follow).toEqual(["/usr/share/pma"]);
    expect(front({ follow: [] }).follow).toEqual([]);
    expect(front({ script: "w.php" }).front_controller).toBe("/index.php");
    for (
      const wrong of [{ script: "w.php", front_controller: table }, {
        front_controller: { "/blog": "/blog/index.php" },
      }]
    ) {
      expect(() => front(wrong)).toThrow("front_controller");
    }
  });

  test("are checked against each other, and the key to blame is named", () => {
    const worker = { script: "w.php" };
    const cases: readonly (readonly [table: Record<string, unknown>, path: string])[] = [
      [{ engine: "worker" }, "engine"],
      [{ engine: "fpm", script: "w.php" }, "script"],
      [{ isolation: "fork" }, "isolation"],
      [{ watch: ["src/**"] }, "watch"],
      [{ max_concurrency: 4 }, "max_concurrency"],
      [{ ...worker, fastcgi: "127.0.0.1:9000" }, "fastcgi"],
      [{ ...worker, catch_output: true }, "catch_output"],
      [{ ...worker, concurrency: 4, max_concurrency: 3 }, "max_concurrency"],
      [{ ...worker, max_memory: "200MB", hard_memory: "100MB" }, "max_memory"],
      [{ ...worker, isolation: "fork", protocol: "goridge" }, "isolation"],
      [{ ...worker, isolation: "fork", max_requests: 5 }, "max_requests"],
      [{ pools: { x: { match: { path: ["/x"] }, engine: "worker" } } }, "pools.x.engine"],
      [{ ...worker, surprise: 1 }, ""],
    ];
    for (const [table, path] of cases) {
      const { error } = phpTable.safeParse(table);
      expect([JSON.stringify(table), error?.issues.map((issue) => issue.path.join("."))]).toEqual([
        JSON.stringify(table),
        [path],
      ]);
    }
    const fine = {
      ...worker,
      concurrency: 2,
      max_concurrency: 4,
      max_memory: "1MB",
      hard_memory: "2MB",
      max_requests: 9,
    };
    expect(phpTable.safeParse(fine).success).toBe(true);
  });

  test("need a match and a name that a metric can carry", () => {
    for (const pools of [{ x: {} }, { x: { match: {} } }, { "A b": { match: { path: ["/"] } } }]) {
      expect(phpTable.safeParse({ pools }).success).toBe(false);
    }
  });
});

describe("the protocol of a worker script", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-protocol-"));
  const detect = (text: string, name = "worker.php") => {
    writeFileSync(join(dir, name), text);
    return detectProtocol(join(dir, name));
  };

  test("is told by its text, or by a name that is known", () => {
    expect(detect("<?php while (\\frankenphp_handle_request($h)) {}")).toBe("frankenphp");
    expect(detect("<?php use Spiral\\RoadRunner\\Worker;")).toBe("goridge");
    expect(detect("<?php $worker = Fairlead\\Worker::create();")).toBe("native");
    expect(detect("<?php require 'x.php';", "frankenphp-worker.php")).toBe("frankenphp");
    expect(detect("#!/usr/bin/env php", "roadrunner-worker")).toBe("goridge");
  });

  test("is asked for where it cannot be told", () => {
    expect(() => detect("<?php echo 1;")).toThrow(/set protocol/);
    expect(() => detect("<?php use Spiral\\RoadRunner\\Worker; frankenphp_handle_request($h);")).toThrow(/one of them/);
    expect(() => detectProtocol(join(dir, "absent.php"))).toThrow(/Cannot read/);
    rmSync(dir, { recursive: true, force: true });
  });
});
