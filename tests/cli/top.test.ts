import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { top } from "../../cli/top.ts";
import { paint } from "../../cli/top_paint.ts";
import { drawTop } from "../../cli/top_screen.ts";
import { Watch } from "../../plugins/dashboard/figures/watch.ts";

const scrape = (name: string, shed: number) =>
  `process_start_time_seconds 1000
fairlead_build_info{version="0.1.0",runtime="bun",runtime_version="1.4.5"} 1
fairlead_http_requests_total{status="200"} ${100 + shed}
fairlead_admission_limit{lane="${name}"} 3
fairlead_admission_queued{lane="${name}"} 2
fairlead_admission_oldest_wait_seconds{lane="${name}"} 0.25
fairlead_admission_total{lane="${name}",outcome="shed_full"} ${shed}
fairlead_admission_overtakes_total{lane="${name}"} 1
fairlead_php_children{pool="${name}"} 3
fairlead_php_alive{pool="${name}"} 2
fairlead_php_busy{pool="${name}"} 1
fairlead_bulkhead_limit{bulkhead="api"} 2
fairlead_bulkhead_in_use{bulkhead="api"} 1
fairlead_db_backends_limit{db="shop"} 5
fairlead_db_backends{db="shop",state="used"} 4
fairlead_db_up{db="shop"} 0
`;

function draw(name: string) {
  const watch = new Watch();
  watch.take(0, scrape(name, 5));
  watch.take(2000, scrape(name, 15));
  return drawTop({ watch, now: 1_060_000, frame: watch.history.last, ready: { ready: true, parts: {} } });
}

describe("drawTop", () => {
  test("says the same numbers as the page", () => {
    const text = draw("php").map((line) => line.text).join("\n");
    for (
      const said of [
        "Fairlead 0.1.0, bun 1.4.5, up for 60 s",
        "\nready\n",
        "requests    5/s, 2xx 5/s",
        "in line     2, the oldest for 250 ms",
        "turned away 5/s, 10 lately, 15 since the start",
        "overtakes   1\n",
        "[#-~] 1 busy, 1 idle, 1 starting",
        "turned away 15 (5/s) line full",
        "bulkhead api\n              [#-] 1 of 2 in use",
        "database shop, DOWN\n  connections 4 of 5, 4 used",
      ]
    ) expect(text).toContain(said);
  });

  test("tells why a server is not ready, and that it does not answer", () => {
    const watch = new Watch();
    const parts = { server: "ready", php: "starting" };
    expect(drawTop({ watch, now: 0, ready: { ready: false, parts } })[1]).toEqual({
      text: "not ready: php: starting",
      tone: "bad",
    });
    expect(drawTop({ watch, now: 0, problem: "nothing listens there" })[1]!.text).toBe("nothing listens there");
  });

  test("nothing from outside commands the terminal", () => {
    const lines = draw("\x1b[2J\x07\x9b31m");
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    expect(lines.filter(({ text }) => /[\u0000-\u001f\u007f-\u009f]/.test(text))).toEqual([]);
    expect(lines.some(({ text }) => text.startsWith("line  [2J"))).toBe(true);
  });
});

describe("paint", () => {
  const lines = [{ text: "abcdef", tone: "bad" as const }, { text: "second" }, { text: "third" }];

  test("draws what fits over what was there", () => {
    expect(paint(lines, { columns: 4, rows: 3, colour: false })).toBe("\x1b[Habc…\x1b[K\nsec…\x1b[K\x1b[J");
  });

  test("colours only where it may", () => {
    expect(paint(lines.slice(0, 1), { columns: 9, rows: 3, colour: true })).toBe(
      "\x1b[H\x1b[31mabcdef\x1b[0m\x1b[K\x1b[J",
    );
  });
});

describe("fairlead top", () => {
  let server: Server;
  let admin = "";
  let shed = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === "/metrics") shed += 10;
      const answers: Readonly<Record<string, string>> = {
        "/metrics": scrape("php", shed),
        "/readyz": '{"ready":false,"parts":{"php":"starting"}}',
        "/-/whoami": '{"pid":42,"version":"0.1.0","runtime":"bun 1.4.5"}',
      };
      const text = answers[request.url!];
      response.writeHead(text === undefined ? 404 : request.url === "/readyz" ? 503 : 200).end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    admin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  test("--once looks twice and prints plain lines", async () => {
    const printed: string[] = [];
    const { log } = console;
    console.log = (text: string) => void printed.push(text);
    try {
      expect(await top(["--admin", admin, "--once"])).toBe(0);
    } finally {
      console.log = log;
    }
    expect(printed.length).toBe(1);
    expect(printed[0]).toMatch(
      /^Fairlead 0\.1\.0, bun 1\.4\.5, pid 42, up for .*\nnot ready: php: starting\n {2}requests {4}[\d.]+\/s/,
    );
    expect(printed[0]).toContain("10 lately, 20 since the start");
    expect(printed[0]).not.toContain("\x1b");
  });

  const failure = async (...args: string[]) => await top(args).then(() => "none", (error) => error.code);

  test("says what is wrong", async () => {
    expect(await failure("--admin", "127.0.0.1:1", "--once")).toBe("ADMIN_UNREACHABLE");
    expect(await failure("--admin", admin, "-c", "x.toml")).toBe("USAGE");
    expect(await failure("--twice")).toBe("USAGE");
  });

  test("says what the server says when it refuses", async () => {
    const refusals = [
      [404, "no", "404 to /metrics; are these its metrics?"],
      [421, '{"code":"ADMIN_HOST","error":"expected another Host"}', "421 to /metrics; expected another Host"],
    ] as const;
    for (const [status, text, said] of refusals) {
      const other = createServer((_, response) => void response.writeHead(status).end(text));
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      const error = await top(["--admin", `127.0.0.1:${(other.address() as AddressInfo).port}`, "--once"]).catch((e) =>
        e
      );
      expect([error.code, error.message]).toEqual(["ADMIN_REFUSED", `The server answered ${said}`]);
      other.close();
    }
  });
});
