import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { fileOf } from "../../core/http/bytes.ts";
import type { Delivery } from "../../plugins/static/file_body.ts";
import { StaticFiles } from "../../plugins/static/files.ts";
import { waitFor } from "../support/wait.ts";
import { must, openBelow, request, type Tree, tree } from "./support.ts";

const MB = 1024 * 1024;
const big = new Uint8Array(3 * MB + 12345).map((_, i) => (i * 31 + (i >> 8)) & 0xff);

let site: Tree;
let files: StaticFiles;

beforeAll(() => {
  site = tree();
  site.write("public/big.bin", big);
  files = new StaticFiles({ root: site.root });
});

afterAll(() => site.remove());

const start = (path: string, delivery?: Delivery, headers = {}) => must(files.serve(request(path, headers), delivery));
const fresh = (): Delivery => ({ bytes: 0, sent: undefined });
const isOpen = (path = "big.bin") => openBelow(join(site.root, path)).length > 0;
const readerOf = (response: Response) => (response.body as ReadableStream<Uint8Array>).getReader();

/** How the body ended: `whole`, or the code of the error. */
const ending = (delivery: Delivery) =>
  (delivery.sent as Promise<unknown>).then(() => "whole", (error) => (error as { code: string }).code);

describe("a large body", () => {
  test("is the file, to the byte, and closes it", async () => {
    const delivery = fresh();
    const response = start("/big.bin", delivery);
    expect(response.headers.get("content-length")).toBe(String(big.length));
    expect(isOpen()).toBe(true);
    expect(Buffer.compare(new Uint8Array(await response.arrayBuffer()), big)).toBe(0);
    expect(await ending(delivery)).toBe("whole");
    expect(delivery.bytes).toBe(big.length);
    expect(isOpen()).toBe(false);
  });

  test("may be a range", async () => {
    const response = start("/big.bin", fresh(), { range: `bytes=77-${2 * MB}` });
    expect(Buffer.compare(new Uint8Array(await response.arrayBuffer()), big.subarray(77, 2 * MB + 1))).toBe(0);
    expect(isOpen()).toBe(false);
  });

  test("may be several ranges", async () => {
    const delivery = fresh();
    const response = start("/big.bin", delivery, { range: `bytes=${MB}-${2 * MB},0-0,-200000` });
    const boundary = response.headers.get("content-type")?.split("boundary=")[1];
    const head = (range: string) =>
      `--${boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ${range}/${big.length}\r\n\r\n`;
    const expected = Buffer.concat([
      Buffer.from(head(`${MB}-${2 * MB}`)),
      big.subarray(MB, 2 * MB + 1),
      Buffer.from(`\r\n${head("0-0")}`),
      big.subarray(0, 1),
      Buffer.from(`\r\n${head(`${big.length - 200000}-${big.length - 1}`)}`),
      big.subarray(-200000),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    expect(response.headers.get("content-length")).toBe(String(expected.length));
    expect(Buffer.compare(new Uint8Array(await response.arrayBuffer()), expected)).toBe(0);
    expect(delivery.bytes).toBe(expected.length);
    expect(isOpen()).toBe(false);
  });

  test("is read no faster than it is taken", async () => {
    const delivery = fresh();
    const reader = readerOf(start("/big.bin", delivery));
    expect(delivery.bytes).toBe(0);
    let taken = 0;
    for (let i = 0; i < 3; i++) {
      taken += (await reader.read()).value?.length ?? 0;
      // A read ahead would have been asked for by now, and done after another read of the same disk.
      await fs.promises.readFile(join(site.root, "big.bin"));
      expect(delivery.bytes).toBe(taken);
    }
    await reader.cancel();
  });

  test("of 300 MB does not grow the process", async () => {
    fs.writeFileSync(join(site.root, "sparse.bin"), "");
    fs.truncateSync(join(site.root, "sparse.bin"), 300 * MB);
    const reader = readerOf(start("/sparse.bin"));
    let [total, before, peak] = [0, 0, 0];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      total += part.value.length;
      // What the first 50 MB leave to the collector is not growth.
      if (total < 50 * MB) before = Math.max(before, process.memoryUsage().rss);
      else peak = Math.max(peak, process.memoryUsage().rss);
    }
    expect(total).toBe(300 * MB);
    expect(peak - before).toBeLessThan(64 * MB);
    expect(isOpen("sparse.bin")).toBe(false);
  });
});

describe("a client that leaves", () => {
  test("closes the file by cancelling", async () => {
    const delivery = fresh();
    const reader = readerOf(start("/big.bin", delivery));
    await reader.read();
    await reader.cancel("gone");
    expect(isOpen()).toBe(false);
    expect(await ending(delivery)).toBe("SEND_CANCELLED");
  });

  test("closes the file even in the middle of a read", async () => {
    const delivery = fresh();
    const reader = readerOf(start("/big.bin", delivery));
    const reading = reader.read();
    await reader.cancel();
    expect((await reading).done).toBe(true);
    await waitFor(() => !isOpen(), { what: "closed after the read" });
    expect(await ending(delivery)).toBe("SEND_CANCELLED");
  });

  test("closes the file by what the host tells, and a late read fails", async () => {
    let leave = () => {};
    let forgotten = 0;
    const onGone = (left: () => void) => {
      leave = left;
      return () => void forgotten++;
    };
    const delivery: Delivery = { ...fresh(), onGone };
    const reader = readerOf(start("/big.bin", delivery));
    await reader.read();
    leave();
    leave();
    expect(isOpen()).toBe(false);
    expect(await ending(delivery)).toBe("SEND_CANCELLED");
    expect(await reader.read().then(() => "data", (error) => (error as { code: string }).code)).toBe("SEND_CANCELLED");

    const whole: Delivery = { ...fresh(), onGone };
    forgotten = 0;
    await start("/big.bin", whole).arrayBuffer();
    expect(forgotten).toBe(1);
  });

  test("before the body was made leaves nothing open", () => {
    const delivery: Delivery = {
      ...fresh(),
      onGone: (left) => {
        left();
        return () => {};
      },
    };
    start("/big.bin", delivery);
    expect(isOpen()).toBe(false);
  });

  test("before the body was read closes it too", async () => {
    const delivery = fresh();
    const response = start("/big.bin", delivery);
    expect(isOpen()).toBe(true);
    await response.body?.cancel();
    expect(isOpen()).toBe(false);
    expect(await ending(delivery)).toBe("SEND_CANCELLED");
  });
});

describe("a listener that sends files by itself", () => {
  test("takes the descriptor, once, and owns it", async () => {
    let forgotten = 0;
    const delivery: Delivery = { ...fresh(), onGone: () => () => void forgotten++ };
    const response = start("/big.bin", delivery, { range: "bytes=77-200076" });
    const file = fileOf(response)!;
    expect([file.start, file.end, file.take(), file.take()]).toEqual([77, 200_077, true, false]);
    expect([await ending(delivery), delivery.bytes, forgotten]).toEqual(["whole", 200_000, 1]);
    // What becomes of the stream is no matter any more.
    await response.body?.cancel();
    expect(isOpen()).toBe(true);
    const first = Buffer.alloc(3);
    fs.readSync(file.fd, first, 0, 3, file.start);
    expect([...first]).toEqual([...big.subarray(77, 80)]);
    fs.closeSync(file.fd);
    expect(isOpen()).toBe(false);
  });

  test("cannot take it once the stream was read, cancelled or left", async () => {
    const read = start("/big.bin");
    const reader = readerOf(read);
    await reader.read();
    const cancelled = start("/big.bin");
    await cancelled.body?.cancel();
    const left = start("/big.bin", {
      ...fresh(),
      onGone: (leave) => {
        leave();
        return () => {};
      },
    });
    expect([read, cancelled, left].map((response) => fileOf(response)?.take())).toEqual([false, false, false]);
    await reader.cancel();
    expect(isOpen()).toBe(false);
  });

  test("cannot take a file that has shrunk: the stream fails", async () => {
    site.write("public/cut.bin", big);
    const delivery = fresh();
    const response = start("/cut.bin", delivery);
    fs.truncateSync(join(site.root, "cut.bin"), big.length - 1);
    expect(fileOf(response)?.take()).toBe(false);
    await response.arrayBuffer().catch(() => {});
    expect(await ending(delivery)).toBe("FILE_SHRANK");
    // Nobody asked for what is missing.
    const part = start("/cut.bin", fresh(), { range: "bytes=0-100000" });
    fs.truncateSync(join(site.root, "cut.bin"), 100_001);
    const file = fileOf(part)!;
    expect(file.take()).toBe(true);
    fs.closeSync(file.fd);
    expect(isOpen("cut.bin")).toBe(false);
  });

  test("has nothing to take where there is more to send than one span", async () => {
    const several = start("/big.bin", fresh(), { range: "bytes=0-99999,200000-299999" });
    expect(fileOf(several)).toBe(undefined);
    await several.body?.cancel();
    expect(fileOf(start("/big.bin", fresh(), { range: "bytes=0-9" }))).toBe(undefined);
    expect(isOpen()).toBe(false);
  });
});

describe("a file that changes while it is sent", () => {
  test("and shrinks: the stream fails and is never completed", async () => {
    site.write("public/shrinks.bin", big);
    const delivery = fresh();
    const reader = readerOf(start("/shrinks.bin", delivery));
    await reader.read();
    fs.truncateSync(join(site.root, "shrinks.bin"), 200 * 1024);
    let error: unknown;
    try {
      while (!(await reader.read()).done);
    } catch (caught) {
      error = caught;
    }
    expect((error as { code?: string } | undefined)?.code).toBe("FILE_SHRANK");
    expect(await ending(delivery)).toBe("FILE_SHRANK");
    expect(delivery.bytes).toBe(200 * 1024);
    expect(isOpen("shrinks.bin")).toBe(false);
  });

  test("and is small: it gets a second look, and never a body cut short", async () => {
    const path = join(site.root, "small.txt");
    // The clock is read between the look at the file and the reading of it.
    let cuts = 1;
    const now = () => {
      if (cuts-- > 0) fs.truncateSync(path, fs.statSync(path).size - 1);
      return Date.now();
    };
    const racing = new StaticFiles({ root: site.root, now });
    fs.writeFileSync(path, "0123456789");
    const response = must(racing.serve(request("/small.txt")));
    expect([response.headers.get("content-length"), await response.text()]).toEqual(["9", "012345678"]);
    cuts = 2;
    let code = "";
    try {
      racing.serve(request("/small.txt"));
    } catch (error) {
      code = (error as { code: string }).code;
    }
    expect(code).toBe("FILE_SHRANK");
    expect(isOpen("small.txt")).toBe(false);
  });

  test("and grows: no byte more than was promised", async () => {
    site.write("public/grows.bin", big);
    const response = start("/grows.bin");
    fs.appendFileSync(join(site.root, "grows.bin"), new Uint8Array(MB));
    expect((await response.arrayBuffer()).byteLength).toBe(big.length);
  });

  test("and is replaced by renaming: the old one, whole", async () => {
    site.write("public/replaced.bin", big);
    const response = start("/replaced.bin");
    site.write("public/new.bin", new Uint8Array(big.length));
    fs.renameSync(join(site.root, "new.bin"), join(site.root, "replaced.bin"));
    expect(Buffer.compare(new Uint8Array(await response.arrayBuffer()), big)).toBe(0);
  });
});

test("nothing stays open after HEAD, 304, 405, 412, 416 and small ranges", async () => {
  const { etag } = Object.fromEntries(start("/big.bin", fresh(), { range: "bytes=0-0" }).headers);
  for (const headers of [{ "if-none-match": etag }, { "if-match": '"x"' }, { range: "bytes=99999999-" }]) {
    await start("/big.bin", fresh(), headers as Record<string, string>).arrayBuffer();
  }
  for (const method of ["HEAD", "POST", "OPTIONS"]) must(files.serve(request("/big.bin", {}, method)));
  expect(isOpen()).toBe(false);
});
