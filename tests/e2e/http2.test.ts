/**
 * HTTP/2 as browsers speak it, and as those who mean harm do. Bun calls its own experimental: what it is relied on for is held
 * here, frame by frame, for each version that comes.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { makeCertificates } from "../support/certificates.ts";
import { block, type Fields, flags, frame, frames, get, post, RawHttp2 } from "../support/raw_http2.ts";
import { hosts, startServer, type TestServer, total } from "../support/server.ts";
import { allowSlowTests, waitFor, within } from "../support/wait.ts";

allowSlowTests(60_000);

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** One request on a session. */
function ask(
  session: ClientHttp2Session,
  path: string,
  more: Record<string, string> = {},
  body?: Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, ...(body === undefined ? {} : { ":method": "POST" }), ...more });
    let headers: IncomingHttpHeaders = {};
    const parts: Buffer[] = [];
    stream.on("response", (all) => headers = all);
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("error", reject);
    stream.on("end", () => resolve({ status: Number(headers[":status"]), headers, body: Buffer.concat(parts) }));
    stream.end(body);
  });
}

/** Has a script wait for a file among its notes, which it gets when the test has seen what it waits for. */
const awaiting = (note: string) =>
  `for ($n = 0; !file_exists(__DIR__ . "/notes/${note}") && $n < 20000; $n++) { usleep(1000); clearstatcache(); }`;
const noting = "file_put_contents(__DIR__ . '/notes/ran', $_GET['as'] . \"\\n\", FILE_APPEND);";

const scripts: Readonly<Record<string, string>> = {
  "vars.php": "<?php header('Content-Type: application/json'); echo json_encode($_SERVER);",
  "number.php": "<?php usleep(2000); echo $_GET['n'];",
  "note.php": `<?php usleep(1000); ${noting}`,
  "hold.php": `<?php ${awaiting("go")} ${noting} echo 'held';`,
  "sum.php": "<?php echo strlen($b = file_get_contents('php://input')), ' ', md5($b);",
  "hop.php":
    "<?php foreach (['Connection: close', 'Keep-Alive: timeout=5', 'Upgrade: x', 'Set-Cookie: a=1', 'Set-Cookie: b=2'] as $h) header($h, false); echo 'hop';",
  "events.php":
    `<?php while (ob_get_level()) ob_end_clean(); header('Content-Type: text/event-stream'); for ($i = 0; $i < 3; $i++) { echo "data: $i\\n\\n"; flush(); ${
      awaiting("got$i")
    } }`,
  "large.php": "<?php for ($i = 0; $i < 64; $i++) echo str_repeat(chr(65 + $i % 26), 1 << 20);",
};

for (const host of hosts().filter((name) => name === "bun" || name === "binary")) {
  describe(`HTTP/2 of ${host}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-h2-"));
    const { cert, key } = makeCertificates(folder);
    let server: TestServer, session: ClientHttp2Session;
    const started = (more: Record<string, unknown> = {}) =>
      startServer({
        host,
        config: {
          server: { tls: { cert, key }, max_body: "8MB", body_timeout: "2s", keep_alive: "2s", ...more },
          php: { concurrency: 2, front_controller: false },
          log: { access: "off" },
        },
      });
    const open = (port: number) => connect(`https://localhost:${port}`, { rejectUnauthorized: false });
    const fill = ({ dir }: TestServer) => {
      for (const [name, text] of Object.entries(scripts)) writeFileSync(join(dir, "public", name), text);
      // PHP runs as another user where root runs the tests.
      mkdirSync(join(dir, "public/notes"));
      chmodSync(join(dir, "public/notes"), 0o777);
    };
    const note = ({ dir }: TestServer, name: string) => writeFileSync(join(dir, "public/notes", name), "");
    const notes = () => join(server.dir, "public/notes/ran");
    const ran = () => existsSync(notes()) ? readFileSync(notes(), "utf8").split("\n") : [];

    beforeAll(async () => {
      server = await started();
      fill(server);
      writeFileSync(join(server.dir, "public/file.bin"), Buffer.alloc(300_000, "0123456789"));
      session = open(server.port);
      session.on("error", () => {});
    });
    afterAll(async () => {
      session?.destroy();
      await server?.[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    });

    test("curl and older clients get the protocol they ask for", () => {
      const curl = (version: string) =>
        execFileSync("curl", [
          "-sk",
          version,
          "-w",
          " %{http_version}",
          `https://localhost:${server.port}/number.php?n=7`,
        ]);
      expect([curl("--http2"), curl("--http1.1")].map(String)).toEqual(["7 2", "7 1.1"]);
    });

    test("hundreds of requests on one connection: each has its own answer", async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ask(session, `/number.php?n=${n}`)));
      expect(answers.map((a) => `${a.status} ${a.body}`)).toEqual(Array.from({ length: 200 }, (_, n) => `200 ${n}`));
    });

    // The binary is Bun within: that it speaks HTTP/2 is enough.
    if (host === "binary" && hosts().includes("bun")) return;

    test("PHP sees the request as it is", async () => {
      const { headers, body } = await ask(session, "/vars.php?a=1", {
        cookie: "a=1; b=2",
        "x-request-id": "mine",
        "x_under": "1",
      });
      expect(JSON.parse(String(body))).toMatchObject({
        HTTPS: "on",
        REQUEST_SCHEME: "https",
        HTTP_HOST: `localhost:${server.port}`,
        HTTP_COOKIE: "a=1; b=2",
        REQUEST_URI: "/vars.php?a=1",
        REMOTE_ADDR: "127.0.0.1",
        CONTENT_LENGTH: "",
        SERVER_PROTOCOL: "HTTP/1.1",
      });
      expect(String(body)).not.toContain("X_UNDER");
      expect(headers["x-request-id"]).toBe("mine");
    });

    test("cookies that come one by one, as browsers send them, are one field", async () => {
      using raw = await RawHttp2.connect(server.port);
      raw.ask(1, get("/vars.php", ["cookie", "a=1"], ["cookie", "b=2"]));
      expect(await raw.fate(1)).toBe("answered");
      expect(JSON.parse(raw.body(1)).HTTP_COOKIE).toBe("a=1; b=2");
    });

    test("what belongs to one HTTP/1 connection is not sent, and each cookie is", async () => {
      const { headers, body } = await ask(session, "/hop.php");
      expect([headers["connection"], headers["keep-alive"], headers["upgrade"], headers["transfer-encoding"]])
        .toEqual([undefined, undefined, undefined, undefined]);
      expect([headers["set-cookie"], String(body)]).toEqual([["a=1", "b=2"], "hop"]);
    });

    test("bodies in both directions, larger than any window", async () => {
      const body = Buffer.alloc(7_000_000, "abcdefg");
      const md5 = new Bun.CryptoHasher("md5").update(body).digest("hex");
      expect(String((await ask(session, "/sum.php", {}, body)).body)).toBe(`7000000 ${md5}`);
      const large = await ask(session, "/large.php");
      expect([large.status, large.body.length, large.body[0], large.body.at(-1)]).toEqual([
        200,
        64 << 20,
        65,
        65 + 63 % 26,
      ]);
    });

    test("too much, too slow, too long: 413, 408, 431, and the connection goes on", async () => {
      expect((await ask(session, "/sum.php", {}, Buffer.alloc(9_000_000))).status).toBe(413);
      const stalled = session.request({ ":path": "/sum.php", ":method": "POST" });
      stalled.on("error", () => {});
      const status = new Promise((resolve) => stalled.on("response", (headers) => resolve(headers[":status"])));
      stalled.write("begun");
      expect(await status).toBe(408);
      stalled.close();
      expect((await ask(session, "/number.php?n=1", { "x-big": "b".repeat(40_000) })).status).toBe(431);
      expect(String((await ask(session, "/number.php?n=1")).body)).toBe("1");
      expect(total(await server.metrics(), "fairlead_admission_in_use")).toBe(0);
    });

    test("files: whole, a range, none when it has not changed", async () => {
      const whole = await ask(session, "/file.bin");
      expect([whole.status, whole.body.length, whole.headers["content-length"]]).toEqual([200, 300_000, "300000"]);
      const part = await ask(session, "/file.bin", { range: "bytes=10-19" });
      expect([part.status, String(part.body), part.headers["content-range"]])
        .toEqual([206, "0123456789", "bytes 10-19/300000"]);
      const none = await ask(session, "/file.bin", { "if-none-match": whole.headers["etag"]! });
      expect([none.status, none.body.length]).toEqual([304, 0]);
      const head = await ask(session, "/file.bin", { ":method": "HEAD" });
      expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([200, 0, "300000"]);
    });

    test("events arrive one by one", async () => {
      const events: string[] = [];
      await new Promise<void>((resolve) => {
        const stream = session.request({ ":path": "/events.php" });
        // The next is not sent before.
        stream.on("data", (event: Buffer) => note(server, `got${events.push(String(event)) - 1}`));
        stream.on("end", resolve);
      });
      expect(events).toEqual(["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]);
    });

    test("a reset takes a request out of the line before it ever runs, and frees who runs for nobody", async () => {
      using raw = await RawHttp2.connect(server.port);
      for (const [i, as] of ["first", "second", "third", "fourth", "fifth"].entries()) {
        raw.ask(1 + 2 * i, get(`/hold.php?as=${as}`));
      }
      await waitFor(async () => total(await server.metrics(), "fairlead_admission_queued") === 3, {
        what: "three in line",
      });
      raw.send(frame(frames.reset, 0, 7, Buffer.of(0, 0, 0, 8)));
      await waitFor(async () => total(await server.metrics(), "fairlead_admission_queued") === 2, {
        what: "two in line",
      });
      note(server, "go");
      expect([await raw.fate(5), await raw.fate(9)]).toEqual(["answered", "answered"]);
      expect(ran().filter(Boolean).sort()).toEqual(["fifth", "first", "second", "third"]);
      await waitFor(async () => total(await server.metrics(), "fairlead_admission_in_use") === 0, {
        what: "nothing in use",
      });
    });

    const wrong: readonly (readonly [what: string, fields: Fields, ...body: string[]])[] = [
      ["a line end in a value", get("/vars.php", ["x-a", "b\r\nx-evil: c"])],
      ["a NUL in a value", get("/vars.php", ["x-a", "b\0c"])],
      ["a line end in a name", get("/vars.php", ["x-a: b\r\nx-evil", "c"])],
      ["a space in a name", get("/vars.php", ["x a", "c"])],
      ["capitals in a name", get("/vars.php", ["X-A", "b"])],
      ["a Connection field", get("/vars.php", ["connection", "close"])],
      ["a transfer coding", get("/vars.php", ["transfer-encoding", "chunked"])],
      ["two paths", get("/vars.php", [":path", "/sum.php"])],
      ["a pseudo field behind the others", [["x-a", "b"], ...get("/vars.php")]],
      ["another host than the authority", get("/vars.php", ["host", "elsewhere.test"])],
      ["no path", get("/vars.php").slice(0, 3)],
      ["a line end in the path", get("/vars.php\r\nx: y")],
      ["a space in the path", get("/vars.php /x")],
      ["a path that is no path", get("vars.php")],
      ["a target in absolute form", get("http://elsewhere.test/vars.php")],
      ["CONNECT", [[":method", "CONNECT"], ...get("/").slice(1)]],
      ["less body than declared", post("/sum.php", ["content-length", "10"]), "abc"],
      ["more body than declared", post("/sum.php", ["content-length", "2"]), "abcdef"],
      ["two lengths", post("/sum.php", ["content-length", "3"], ["content-length", "4"]), "abc"],
    ];
    for (const [what, fields, ...body] of wrong) {
      test(`${what} is no request: its stream is reset, the connection goes on`, async () => {
        using raw = await RawHttp2.connect(server.port);
        raw.ask(1, fields, ...body);
        raw.ask(3, get("/number.php?n=3"));
        expect([await raw.fate(1), await raw.fate(3), raw.body(3)]).toEqual(["reset 1", "answered", "3"]);
      });
    }

    const floods: readonly (readonly [what: string, send: (raw: RawHttp2, i: number) => void])[] = [
      ["streams that are reset at once", (raw, i) => {
        raw.ask(1 + 2 * i, get("/note.php?as=flood"));
        raw.send(frame(frames.reset, 0, 1 + 2 * i, Buffer.of(0, 0, 0, 8)));
      }],
      ["a head without end", (raw, i) => {
        const [type, part] = i === 0
          ? [frames.headers, block(get("/"))] as const
          : [frames.continuation, block([["x-a", "b".repeat(900)]])] as const;
        raw.send(frame(type, 0, 1, part));
      }],
      ["a head without end nor content", (raw, i) => {
        raw.send(
          frame(i === 0 ? frames.headers : frames.continuation, 0, 1, i === 0 ? block(get("/")) : Buffer.alloc(0)),
        );
      }],
    ];
    for (const [what, send] of floods) {
      test(`${what}: the connection is closed, and nobody else notices`, async () => {
        const before = ran().length;
        using raw = await RawHttp2.connect(server.port);
        for (let i = 0; i < 20_000 && !raw.closed; i++) {
          send(raw, i);
          if (i % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 1));
        }
        await waitFor(() => raw.closed, { what: "the end of the connection" });
        expect(String((await ask(session, "/number.php?n=2")).body)).toBe("2");
        // At most those that ran before their reset was read.
        expect(ran().length - before).toBeLessThan(300);
      });
    }

    test("no more than 256 requests of one connection at a time", async () => {
      using raw = await RawHttp2.connect(server.port);
      for (let i = 0; i < 300; i++) raw.ask(1 + 2 * i, get("/number.php?n=1"));
      const fates = await Promise.all(Array.from({ length: 300 }, (_, i) => raw.fate(1 + 2 * i)));
      expect(fates.filter((fate) => fate === "answered").length).toBeGreaterThanOrEqual(256);
      expect(fates.every((fate) => fate === "answered" || fate === "reset 7")).toBe(true);
    });

    test("switched off, it is not offered", async () => {
      await using plain = await started({ http2: "off" });
      const protocol = await new Promise((resolve) => {
        const options = {
          port: plain.port,
          host: "127.0.0.1",
          ALPNProtocols: ["h2", "http/1.1"],
          rejectUnauthorized: false,
        };
        const socket = tlsConnect(options, () => (resolve(socket.alpnProtocol), socket.destroy()));
      });
      expect(protocol).not.toBe("h2");
    });

    test("without TLS only where it is asked for, to those who know it", async () => {
      for (const http2 of ["tls", "all"]) {
        await using plain = await startServer({ host, config: { server: { http2 }, php: { concurrency: 1 } } });
        writeFileSync(join(plain.dir, "public/index.php"), "<?php echo 'here';");
        const known = () =>
          String(
            execFileSync("curl", ["-s", "--http2-prior-knowledge", "-w", " %{http_version}", plain.url], {
              stdio: "pipe",
            }),
          );
        if (http2 === "all") expect(known()).toBe("here 2");
        else expect(known).toThrow();
        expect(await (await fetch(plain.url)).text()).toBe("here");
      }
    });

    test("SIGTERM: what runs is answered, no new stream is, exit 0", async () => {
      await using own = await started();
      fill(own);
      using raw = await RawHttp2.connect(own.port);
      raw.ask(1, get("/hold.php?as=last"));
      await waitFor(async () => total(await own.metrics(), "fairlead_admission_in_use") === 1, { what: "the request" });
      own.signal("SIGTERM");
      await raw.until((f) => f.type === frames.goaway);
      note(own, "go");
      const answered = await raw.until((f) =>
        f.stream === 1 && f.type <= frames.headers && (f.flags & flags.endStream) !== 0
      );
      expect([answered !== undefined, raw.body(1)]).toEqual([true, "held"]);
      expect((await own.exited).code).toBe(0);
    });

    test("SIGTERM: an idle client that sleeps does not hold the end up, one that a file is on its way to does", async () => {
      await using own = await started();
      writeFileSync(join(own.dir, "public/large.bin"), Buffer.alloc(300_000, 65));
      using idle = await RawHttp2.connect(own.port);
      idle.ask(1, get("/nothing.txt"));
      await idle.fate(1);
      idle.socket.pause();
      using busy = await RawHttp2.connect(own.port);
      busy.ask(1, get("/large.bin"));
      await waitFor(() => busy.body(1).length === 65_535, { what: "all that the window takes" });
      own.signal("SIGTERM");
      await busy.until((f) => f.type === frames.goaway);
      // Longer than idle clients are waited for.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const more = Buffer.alloc(4);
      more.writeUInt32BE(300_000);
      busy.send(Buffer.concat([frame(frames.window, 0, 0, more), frame(frames.window, 0, 1, more)]));
      await waitFor(() => busy.body(1).length === 300_000, { what: "the rest" });
      busy.socket.pause();
      expect((await within(5000, "The end", own.exited)).code).toBe(0);
    });

    test("a second SIGTERM ends it, even when a client does not close its side", async () => {
      await using own = await started();
      fill(own);
      using raw = await RawHttp2.connect(own.port);
      raw.ask(1, get("/hold.php?as=none"));
      await waitFor(async () => total(await own.metrics(), "fairlead_admission_in_use") === 1, { what: "the request" });
      // Who does not read is told of no end.
      raw.socket.pause();
      own.signal("SIGTERM");
      await waitFor(() => own.output().includes("draining"), { what: "the drain" });
      own.signal("SIGTERM");
      // php-fpm is given 5 s of them.
      expect((await within(10_000, "The end", own.exited)).code).toBe(1);
    });
  });
}
