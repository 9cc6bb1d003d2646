import { describe, expect, test } from "bun:test";
import { asksForPage, isPage, scriptTag } from "../../plugins/refresh/pages.ts";
import { isNear } from "../../plugins/refresh/near.ts";

const html = "text/html,application/xhtml+xml,*/*;q=0.8";
const asks = (headers: Record<string, string>, method = "GET", protocol = "HTTP/1.1") =>
  asksForPage({ method, protocol, headers: new Headers(headers) });
const page = (headers: Record<string, string>, status = 200) =>
  isPage(new Response(null, { status, headers: { "content-type": "text/html; charset=UTF-8", ...headers } }));

describe("what is touched", () => {
  test("requests of browsers for a page or a frame, and no others", () => {
    expect(asks({ accept: html })).toBe(true);
    for (const dest of ["document", "iframe", "frame"]) {
      expect([dest, asks({ accept: html, "sec-fetch-dest": dest })]).toEqual([dest, true]);
    }
    for (const dest of ["empty", "script", "image", "style"]) {
      expect([dest, asks({ accept: html, "sec-fetch-dest": dest })]).toEqual([dest, false]);
    }
    expect(asks({ accept: "*/*" })).toBe(false);
    expect(asks({})).toBe(false);
    expect(asks({ accept: html, range: "bytes=0-1" })).toBe(false);
    expect(asks({ accept: html, "x-requested-with": "XMLHttpRequest" })).toBe(false);
    for (const method of ["HEAD", "POST"]) expect(asks({ accept: html }, method)).toBe(false);
    expect(asks({ accept: html }, "GET", "HTTP/1.0")).toBe(false);
  });

  test("responses that are pages as they stand, errors among them", () => {
    for (const status of [200, 404, 419, 500, 503]) expect([status, page({}, status)]).toEqual([status, true]);
    for (const status of [204, 205, 206, 301, 302, 304]) expect([status, page({}, status)]).toEqual([status, false]);
    expect(page({ "content-type": "Text/HTML" })).toBe(true);
    for (const type of ["", "text/plain", "application/json", "text/html-partial", "application/xhtml+xml"]) {
      expect([type, page({ "content-type": type })]).toEqual([type, false]);
    }
    expect(page({ "content-type": "text/html; charset=utf-16le" })).toBe(false);
    expect(page({ "content-encoding": "gzip" })).toBe(false);
    expect(page({ "content-disposition": 'attachment; filename="a.html"' })).toBe(false);
    expect(page({ "content-disposition": "inline" })).toBe(true);
  });

  test("the script has the nonce of the page's own policy, and nothing else of it", () => {
    expect(scriptTag("a.1", null)).toBe('\n<script src="/-/fairlead/refresh.js" data-at="a.1" async></script>\n');
    expect(scriptTag("a.1", "default-src 'self'; style-src 'nonce-css'")).not.toContain("nonce");
    const strict = "object-src 'none'; script-src 'nonce-r4nd+/0m_-=' 'strict-dynamic'";
    expect(scriptTag("a.1", strict)).toContain(' nonce="r4nd+/0m_-="');
    expect(scriptTag("a.1", "default-src 'self' 'nonce-x'")).toContain(' nonce="x"');
    expect(scriptTag("a.1", "script-src 'nonce-\"><b>'")).not.toContain("nonce");
  });
});

describe("who is near", () => {
  const near = (address: string, headers: Record<string, string> = {}, peer = address, trusted = "none") =>
    isNear(
      { client: { address, port: 1 }, peer: { address: peer, port: 1 }, headers: new Headers(headers) },
      (who) => who === trusted,
    );

  test("this machine and private networks are", () => {
    for (
      const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "172.17.0.1", "192.168.1.9", "fd00::1"]
    ) {
      expect([address, near(address)]).toEqual([address, true]);
    }
    for (const address of ["192.0.2.7", "172.32.0.1", "2001:db8::1", ""]) {
      expect([address, near(address)]).toEqual([address, false]);
    }
  });

  test("behind a proxy only who is said to be, by one that is trusted", () => {
    const forwarded = { "x-forwarded-for": "192.168.1.9" };
    expect(near("127.0.0.1", forwarded)).toBe(false);
    expect(near("127.0.0.1", { via: "1.1 proxy" })).toBe(false);
    expect(near("192.168.1.9", forwarded, "127.0.0.1", "127.0.0.1")).toBe(true);
    expect(near("192.0.2.7", forwarded, "127.0.0.1", "127.0.0.1")).toBe(false);
  });
});
