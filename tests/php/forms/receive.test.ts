import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CoreError } from "../../../core/error.ts";
import { type ReceivedRequest, type ReceiveOptions, receiveRequest } from "../../../plugins/php/forms/receive.ts";
import type { FormPart, RequestBody } from "../../../plugins/php/worker/body.ts";
import { waitFor } from "../../support/wait.ts";
import { bytes, cut, part, streamOf } from "./support.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-receive-"));
afterAll(() => rmSync(dir, { recursive: true }));

const multipart = "multipart/form-data; boundary=b";
const urlencoded = "application/x-www-form-urlencoded";

function receive(
  type: string | null,
  chunks: readonly Uint8Array[],
  options: Partial<ReceiveOptions> = {},
): Promise<ReceivedRequest> {
  return receiveRequest(streamOf(chunks), { get: () => type }, { memory: 100, dir, ...options });
}

async function refusal(work: Promise<unknown>): Promise<[code: string, status: number | undefined]> {
  const error = await work.then(() => undefined, (error) => error);
  expect(error).toBeInstanceOf(CoreError);
  return [error.code, error.status];
}

const files = () => readdirSync(dir);
const gone = () => waitFor(() => files().length === 0, { what: "the files to be deleted" });

/** The same for two runs: contents in place of paths. */
function plain(body: RequestBody): unknown {
  if (body.kind === "bytes") return Buffer.from(body.bytes).toString("hex");
  if (body.kind === "file") return readFileSync(body.path).toString("hex");
  return {
    ...body,
    raw: body.raw === undefined ? undefined : Buffer.from(body.raw).toString("hex"),
    parts: body.parts.map((part) =>
      part.kind === "file" && part.path !== "" ? { ...part, path: readFileSync(part.path).toString("hex") } : part
    ),
  };
}

const upload = (body: RequestBody, at = 0): Extract<FormPart, { kind: "file" }> => {
  const part = body.kind === "form" ? body.parts[at] : undefined;
  if (part?.kind !== "file") throw new Error("no such file");
  return part;
};

describe("receiveRequest", () => {
  test("keeps a body that is no form in memory, or in a file that is gone afterwards", async () => {
    const chunk = fc.uint8Array({ minLength: 1, maxLength: 90 });
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 4 }), async (chunks) => {
        const all = Buffer.concat(chunks);
        const { body, dispose } = await receive("application/json", chunks);
        expect(body.kind).toBe(all.length > 100 ? "file" : "bytes");
        expect(files().length).toBe(all.length > 100 ? 1 : 0);
        if (body.kind === "file") expect(body.length).toBe(all.length);
        expect(plain(body)).toBe(all.toString("hex"));
        dispose();
        dispose();
        await gone();
      }),
      { numRuns: 40 },
    );
  });

  test("takes no form apart where that is not wanted, and none without a type", async () => {
    for (
      const [type, forms] of [[urlencoded, false], [multipart, false], [null, true], ["text/plain", true]] as const
    ) {
      const { body } = await receive(type, [bytes("a=1")], { forms });
      expect(body).toEqual({ kind: "bytes", bytes: Buffer.from("a=1") });
    }
  });

  test("gives an urlencoded form's fields and its bytes", async () => {
    const { body } = await receive(`${urlencoded}; charset=utf-8`, [
      bytes("a[]=%C3"),
      bytes("%A9+b&c"),
      bytes("&&=x&d%00e=1"),
    ]);
    expect(plain(body)).toEqual({
      kind: "form",
      type: "urlencoded",
      length: 26,
      raw: Buffer.from("a[]=%C3%A9+b&c&&=x&d%00e=1", "latin1").toString("hex"),
      parts: [
        { kind: "field", name: "a[]", value: "\xc3\xa9 b" },
        { kind: "field", name: "c", value: "" },
        { kind: "field", name: "", value: "x" },
        { kind: "field", name: "d", value: "1" },
      ],
    });
  });

  test("puts uploads into files that PHP may move, and deletes the others", async () => {
    const body = part('name="a"; filename="up/x.png"', "\0\r\n\xff", ["Content-Type: image/png; q=1"]) +
      part('name="f"', "v\xe9") + part('name="b[]"; filename="y"', "") + part('name="c"; filename=""', "") +
      "--b--\r\n";
    const received = await receive(multipart, [bytes(body)]);
    expect(plain(received.body)).toEqual({
      kind: "form",
      type: "multipart",
      length: body.length,
      raw: undefined,
      parts: [
        { kind: "file", name: "a", filename: "up/x.png", mime: "image/png", size: 4, error: 0, path: "000d0aff" },
        { kind: "field", name: "f", value: "v\xe9" },
        { kind: "file", name: "b[]", filename: "y", mime: "", size: 0, error: 0, path: "" },
        { kind: "file", name: "c", filename: "", mime: "", size: 0, error: 4, path: "" },
      ],
    });
    const elsewhere = join(tmpdir(), `fairlead-moved-${process.pid}`);
    renameSync(upload(received.body).path, elsewhere);
    received.dispose();
    received.dispose();
    await gone();
    expect(statSync(elsewhere).size).toBe(4);
    rmSync(elsewhere);
  });

  test("makes files that only their owner reads, or as it is told", async () => {
    const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
    for (const mode of [undefined, 0o640]) {
      const form = await receive(multipart, [bytes(`${part("name=a; filename=b", "c")}--b--`)], { mode, owner });
      const raw = await receive(null, [bytes("x".repeat(200))], { mode, owner });
      for (const { body } of [form, raw]) {
        const stat = statSync(body.kind === "file" ? body.path : upload(body).path);
        expect((stat.mode & 0o777).toString(8)).toBe((mode ?? 0o600).toString(8));
        if (owner !== undefined) expect([stat.uid, stat.gid]).toEqual([owner.uid, owner.gid]);
      }
      form.dispose();
      raw.dispose();
      await gone();
    }
  });

  test("drops the bytes of a file over the limit, and goes on", async () => {
    const big = part("name=a; filename=b", "x".repeat(1000), ["Content-Type: a/b"]) + part("name=c; filename=d", "y") +
      "--b--";
    const { body, dispose } = await receive(multipart, cut(bytes(big), [300, 600]), {
      limits: { uploadMaxFilesize: 999 },
    });
    expect(upload(body)).toEqual({ kind: "file", name: "a", filename: "b", mime: "", size: 0, error: 1, path: "" });
    expect([upload(body, 1).error, upload(body, 1).size]).toEqual([0, 1]);
    expect(files().length).toBe(1);
    dispose();
    await gone();
  });

  test("sees the same in one chunk and in many", async () => {
    const value = `${"\r\n--\r".repeat(30)}x`;
    const body = bytes(`${part("name=a; filename=b", value)}${part("name=c", value)}--b--`);
    const whole = await receive(multipart, [body]);
    const many = await receive(multipart, Array.from(body, (byte) => Uint8Array.of(byte)));
    expect(plain(many.body)).toEqual(plain(whole.body));
    expect(upload(many.body).size).toBe(value.length);
    for (const { dispose } of [whole, many]) dispose();
    await gone();
  });

  test("gives a file that is cut error 3, and none of its bytes", async () => {
    const { body } = await receive(multipart, [
      bytes("--b\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\nabc\r\n--"),
    ]);
    expect([upload(body).error, upload(body).path, files()]).toEqual([3, "", []]);
  });

  test("hands the stream's failure on and leaves nothing behind", async () => {
    const start = bytes(`${part("name=a; filename=b", "c")}${part("name=d; filename=e", "f".repeat(500))}`);
    for (
      const [type, chunk] of [[multipart, start], [null, bytes("x".repeat(500))], [urlencoded, bytes("a=1")]] as const
    ) {
      const cutOff = new Error("cut off");
      const failing = receiveRequest(streamOf([chunk], cutOff), { get: () => type }, { memory: 10, dir });
      expect(await failing.catch((error) => error)).toBe(cutOff);
      expect(files()).toEqual([]);
    }
  });

  test("refuses what is no form", async () => {
    const types = [
      "multipart/form-data",
      "multipart/form-data; boundary",
      "multipart/form-data; boundary=",
      'multipart/form-data; boundary="b',
    ];
    for (const type of types) expect(await refusal(receive(type, [bytes("--b")]))).toEqual(["FORM_MALFORMED", 400]);
    const head = `--b\r\n${"X: y\r\n".repeat(20_000)}`;
    expect(await refusal(receive(multipart, [bytes(head)]))).toEqual(["FORM_MALFORMED", 400]);
    expect(await refusal(receive(multipart, cut(bytes(`--b\r\nX: ${"y".repeat(100_000)}`), [9, 50_000])))).toEqual([
      "FORM_MALFORMED",
      400,
    ]);
  });

  test("refuses what is too large, reads no more of it and leaves nothing behind", async () => {
    const endless = (first: string) => {
      let cancelled: unknown;
      let left: string | undefined = first;
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.enqueue(bytes(left ?? "x".repeat(1000)));
          left = undefined;
        },
        cancel: (reason) => void (cancelled = reason),
      });
      return { stream, reason: () => cancelled };
    };
    const file = "--b\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n";
    const cases: readonly [string, string, ReceiveOptions["limits"]][] = [
      [urlencoded, "a=", { maxFieldBytes: 5000 }],
      [urlencoded, "a=", { postMaxSize: 5000 }],
      [multipart, "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n", { maxFieldBytes: 5000 }],
      [multipart, file, { postMaxSize: 5000 }],
    ];
    for (const [type, first, limits] of cases) {
      const { stream, reason } = endless(first);
      const work = receiveRequest(stream, { get: () => type }, { memory: 100, dir, limits: limits! });
      expect(await refusal(work)).toEqual(["FORM_TOO_LARGE", 413]);
      expect(reason()).toBeInstanceOf(CoreError);
      expect(files()).toEqual([]);
    }
  });

  test("leaves nothing behind of a file that had ended in the chunk that is refused", async () => {
    const body = `${part("name=a; filename=b", "cd")}${part("name=e; filename=f", "g")}${
      part("name=h", "x".repeat(500))
    }`;
    const chunks = cut(bytes(body), [body.indexOf("cd") + 1]);
    expect(await refusal(receive(multipart, chunks, { limits: { maxFieldBytes: 100 } }))).toEqual([
      "FORM_TOO_LARGE",
      413,
    ]);
    expect(files()).toEqual([]);
  });

  test("holds a field of one-byte chunks, and thousands of parts, to its limits", async () => {
    const many = part("name=a", "").repeat(3000);
    const { body } = await receive(multipart, [bytes(many)], { limits: { maxMultipartBodyParts: 2500 } });
    expect(body.kind === "form" && body.parts.length).toBe(1000);
    expect(
      await refusal(receive(multipart, [bytes(many)], { limits: { maxInputVars: Infinity, maxFieldBytes: 100_000 } })),
    )
      .toEqual(["FORM_TOO_LARGE", 413]);
    const uploads = part("name=a; filename=b", "").repeat(50);
    const some = await receive(multipart, [bytes(uploads)]);
    expect([some.body.kind === "form" && some.body.parts.length, files().length]).toEqual([20, 20]);
    some.dispose();
    await gone();
  });

  test("tells the application, as PHP does, when the disk does not take an upload", async () => {
    const full = async (path: string): Promise<FileHandle> => {
      const file = await open(path, "wx");
      file.write = () => Promise.reject(new Error("ENOSPC: no space left on device, write"));
      return file;
    };
    const form = [bytes(`${part("name=a; filename=b", "c", ["Content-Type: a/b"])}${part("name=d", "e")}--b--`)];
    for (const [options, error] of [[{ dir: join(dir, "gone") }, 6], [{ open: full }, 7]] as const) {
      const { body } = await receive(multipart, form, options);
      expect(body.kind === "form" && body.parts).toEqual([
        { kind: "file", name: "a", filename: "b", mime: "", size: 0, error, path: "" },
        { kind: "field", name: "d", value: "e" },
      ]);
      expect(files()).toEqual([]);
      expect(await refusal(receive(null, [bytes("x".repeat(200))], options))).toEqual(["BODY_UNSPOOLED", 503]);
      expect(files()).toEqual([]);
    }
  });
});
