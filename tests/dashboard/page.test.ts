import { describe, expect, test } from "bun:test";
import { head } from "../../plugins/dashboard/page/head.ts";
import { page } from "../../plugins/dashboard/page/page.ts";
import { byClass, byId, elements, textOf, viewOf } from "./views.ts";

const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;
const label = hostile.replaceAll('"', '\\"');

function lane({ name = "php", limit = 4, busy = 3, alive = 3, queued = 2, shed = 0, overtakes = 0 } = {}): string {
  return `process_start_time_seconds 900
fairlead_admission_limit{lane="${name}"} ${limit}
fairlead_admission_in_use{lane="${name}"} ${busy}
fairlead_admission_queued{lane="${name}"} ${queued}
fairlead_admission_oldest_wait_seconds{lane="${name}"} 1.5
fairlead_admission_overtakes_total{lane="${name}"} ${overtakes}
fairlead_admission_class_queued{lane="${name}",class="critical"} ${queued}
fairlead_admission_class_queued{lane="${name}",class="sheddable"} 0
fairlead_admission_total{lane="${name}",class="critical",outcome="immediate"} 7
fairlead_admission_total{lane="${name}",class="critical",outcome="shed_full"} ${shed}
fairlead_admission_total{lane="${name}",class="critical",outcome="cancelled"} 5
fairlead_php_children{pool="${name}"} ${limit}
fairlead_php_alive{pool="${name}"} ${alive}
fairlead_php_busy{pool="${name}"} ${busy}
fairlead_php_processes{pool="${name}"} ${limit}
`;
}

describe("the head", () => {
  const status = (...view: Parameters<typeof viewOf>) => textOf(byClass(head(viewOf(...view)), "status"));

  test("says whether the server is ready, and if not why", () => {
    expect(status([lane()], { ready: { ready: true, parts: { server: "ready" } } })).toBe("Ready");
    const parts = { server: "ready", php: "php-fpm ended by SIGKILL" };
    expect(status([lane()], { ready: { ready: false, parts } })).toBe("Not ready php: php-fpm ended by SIGKILL");
    expect(status([], {})).toBe("Asking");
    const problem = { text: "the server cannot be reached", since: 0 };
    expect(status([lane()], { ready: { ready: true, parts: {} } }, { problem })).toContain(
      "No answer the server cannot be reached",
    );
  });

  test("says who answers", () => {
    const whoami = {
      pid: 42,
      executable: "/usr/bin/fairlead",
      version: "0.1.0",
      runtime: "bun 1",
      config_hash: "0123456789abcdef",
      started_at: "",
    };
    const text = textOf(head(viewOf([lane()], { whoami })));
    expect(text).toContain("version 0.1.0 runtime bun 1 pid 42 up for 1 min 40 s configuration 0123456789ab");
  });

  test("links to what there is", () => {
    const links = (nodes: ReturnType<typeof head>) =>
      [...elements(nodes)].flatMap(({ attributes }) => attributes["href"] ?? []);
    expect(links(head(viewOf(["process_start_time_seconds 1\n"])))).toEqual(["./metrics", "readyz", "-/whoami"]);
    const answers = {
      admission: { gates: [] },
      bulkheads: { store: "memory", bulkheads: [] },
      pools: { databases: [] },
    };
    expect(links(head(viewOf([lane()], answers)))).toEqual(
      ["./metrics", "readyz", "-/whoami", "-/php", "-/admission", "-/bulkheads"],
    );
  });
});

describe("the page", () => {
  test("counts slots and says them in words", () => {
    const card = byId(page(viewOf([lane()])), "lane-php")!;
    const [slots] = byClass([card], "slots");
    expect(slots!.attributes).toEqual({ class: "slots", role: "img", "aria-label": "processes: 3 busy, 1 starting" });
    expect(slots!.children.map((slot) => (slot as typeof card).attributes["class"])).toEqual(
      ["slot busy", "slot busy", "slot busy", "slot starting"],
    );
    expect(textOf([card])).toContain("permits in use 3 of 4 in line 2 oldest wait 1.50 s classes in line 2 critical");
  });

  test("a bar stands for more slots than can be counted", () => {
    const nodes = page(viewOf([lane({ limit: 500, alive: 500, busy: 125, queued: 0 })]));
    const [bar] = byClass(nodes, "bar");
    expect(bar!.attributes["aria-label"]).toBe("processes: 125 busy, 375 idle");
    expect(bar!.children.map((part) => (part as typeof bar)!.attributes["width"])).toEqual(["25", "75"]);
  });

  test("tells of refusals since the start and lately, and not of who left by himself", () => {
    const trouble = byId(page(viewOf([lane({ shed: 10 }), lane({ shed: 14 })])), "trouble")!;
    expect(textOf([trouble])).toContain("line php line full 2/s 4 14");
    expect(textOf([trouble])).not.toContain("cancelled");
    expect(textOf(page(viewOf([lane()])))).toContain("Nobody has been turned away.");
    expect(textOf(page(viewOf([lane(), lane()])))).toContain("Turned away 0/s 0 in 5 min");
  });

  test("an overtake is bad", () => {
    const bad = (text: string) => byClass(page(viewOf([text])), "bad").map((tile) => textOf([tile]));
    expect(bad(lane())).toEqual([]);
    expect(bad(lane({ overtakes: 1 }))).toEqual(["Overtakes 1 grants past an older waiter"]);
  });

  test("shows no panel of what is not there", () => {
    const ids = (text: string) => byClass(page(viewOf([text])), "panel").map(({ attributes }) => attributes["id"]);
    expect(ids("process_start_time_seconds 1\n")).toEqual(["glance", "trouble", "host"]);
    const db = 'fairlead_db_backends_limit{db="shop"} 5\nfairlead_admission_limit{lane="db:shop"} 5\n';
    expect(ids(`process_start_time_seconds 1\n${db}`)).toEqual(["glance", "databases", "trouble", "host"]);
    const bulkhead = 'fairlead_bulkhead_limit{bulkhead="api"} 5\n';
    expect(ids(`process_start_time_seconds 1\n${bulkhead}`)).toEqual(["glance", "bulkheads", "trouble", "host"]);
  });

  test("names the databases' numbers", () => {
    const db = (name: string, labels: string, value: number) => `fairlead_db_${name}{db="shop"${labels}} ${value}\n`;
    const text = (more: number) =>
      "process_start_time_seconds 1\n" + db("backends_limit", "", 5) + db("up", "", 0) +
      db("backends", ',state="used"', 2) +
      db("backends", ',state="idle"', 1) + db("clients", ',state="waiting"', 3) +
      db("query_seconds_count", "", 100 + more) +
      db("learned_total", ',kind="set"', 50 + more) + db("resets_total", ',outcome="done"', 4);
    const card = textOf([byId(page(viewOf([text(0), text(10)])), "database-shop")!]);
    for (
      const said of [
        "shop down",
        "used 2 idle 1 not open 2",
        "connections 3 of 5",
        "sessions of PHP 3 waiting",
        "statements 5/s",
        "SETs answered here 60 (5/s)",
        "ends of sessions 4 done",
      ]
    ) expect(card).toContain(said);
  });

  test("what comes from outside is text, whatever it says", () => {
    const answers = {
      ready: { ready: false, parts: { [hostile]: hostile } },
      admission: {
        gates: [{ name: hostile, waiting: [{ class: hostile, key: hostile, weight: 1, waited_ms: 1 }], not_shown: 0 }],
      },
      bulkheads: {
        store: hostile,
        bulkheads: [{
          name: hostile,
          limit: 1,
          active: 1,
          queued: 0,
          oldest_wait_ms: 0,
          held: [{ weight: 1, target: hostile, request: hostile, held_ms: 1 }],
          held_more: 0,
          waiting: [],
          waiting_more: 0,
        }],
      },
      pools: { databases: [{ name: hostile, server: hostile, version: hostile }] },
      queries: {
        databases: [{
          name: hostile,
          queries: [{ text: hostile, schema: hostile, count: 1, errors: 0, time: 1, mean: 1, p99: 1 }],
        }],
      },
    };
    const scrape = lane({ name: label, shed: 3 }) + `fairlead_bulkhead_limit{bulkhead="${label}"} 2\n` +
      `fairlead_db_backends_limit{db="${label}"} 2\nfairlead_php_restarts_total{pool="${label}",reason="${label}"} 2\n` +
      `fairlead_bulkhead_total{bulkhead="${label}",outcome="${label}"} 2\n`;
    const view = viewOf([scrape, scrape], answers);
    const nodes = [...head(view), ...page(view)];
    expect(textOf(nodes).split(hostile.replace(/\s+/g, " ")).length).toBeGreaterThan(15);
    const tags = new Set([...elements(nodes)].map(({ tag }) => tag));
    expect([...tags].filter((tag) => /script|img|iframe|style|object|embed|link|form|foreignObject/i.test(tag)))
      .toEqual([]);
    for (const { attributes } of elements(nodes)) {
      for (const [name, value] of Object.entries(attributes)) {
        expect(name).toMatch(
          /^(id|class|title|href|role|tabindex|scope|aria-\w+|d|x|width|height|viewBox|preserveAspectRatio)$/,
        );
        if (name === "href") expect(value).not.toContain(hostile);
      }
    }
  });
});
