/**
 * What visitors do with the frameworks' applications.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Story } from "./stories.ts";
import { formType, jsonType, multipart, type Visitor } from "./visitor.ts";

const story = (name: string, tell: (v: Visitor) => Promise<void>): Story => ({ name, tell });

/** Asks for the form until its token is known, so that what is written down has a name for it. */
async function tokenOf(v: Visitor, pattern: RegExp): Promise<string> {
  const page = Buffer.from((await v.go("GET", "/form")).body).toString();
  const token = pattern.exec(page)?.[1] ?? "";
  v.hide(token, "token");
  v.seen.pop();
  return token;
}

const common: readonly Story[] = [
  story("JSON", async (v) => {
    await v.go("GET", "/json?a=1&b[]=2&c[d]=%C3%BC");
    await v.go("GET", "/json", { headers: { "X-Requested-With": "XMLHttpRequest" } });
  }),
  story("pages that are not, that are forbidden, that break", async (v) => {
    for (const path of ["/nope", "/denied", "/broken", "/json"]) {
      await v.go("GET", path, { headers: { Accept: "application/json" } });
    }
    await v.go("DELETE", "/json");
  }),
  story("a session", async (v) => {
    for (let i = 0; i < 4; i++) await v.go("GET", "/count");
    await v.go("GET", "/count", { anonymous: true });
  }),
  story("a stream", async (v) => {
    await v.go("GET", "/stream");
  }),
  story("HEAD", async (v) => {
    await v.go("HEAD", "/json");
    await v.go("HEAD", "/nope", { headers: { Accept: "application/json" } });
  }),
  story("addresses", async (v) => {
    await v.go("GET", "/where/a%20b");
    await v.go("GET", "/where/%C3%BC?x=%2F");
  }),
];

export const symfonyStories: readonly Story[] = [
  ...common,
  story("the front page", async (v) => {
    await v.go("GET", "/");
  }),
  story("a form with its token, and a flash", async (v) => {
    const token = await tokenOf(v, /token value=([^>]+)>/);
    await v.go("POST", "/form", { headers: formType, body: "token=wrong&name=A" });
    // Tokens are masked anew for every page.
    const sent = await v.go("POST", "/form", {
      headers: formType,
      body: `token=${encodeURIComponent(token)}&name=J%C3%BCrg`,
    });
    if (sent.status !== 303) throw new Error(`expected the form to be taken, got ${sent.status}`);
    for (let i = 0; i < 2; i++) {
      await v.go("GET", "/form");
      const last = v.seen.pop()!;
      v.seen.push({
        ...last,
        headers: last.headers.filter((line) => !line.startsWith("content-length")),
        body: last.body.replace(/value=.*/, ""),
      });
    }
  }),
  story("validation", async (v) => {
    await v.go("POST", "/valid", { headers: jsonType, body: '{"email":"nobody","age":-1}' });
    await v.go("POST", "/valid", { headers: jsonType, body: '{"email":"a@example.com","age":3}' });
    await v.go("POST", "/valid", { headers: jsonType, body: "{" });
  }),
  story("uploads", async (v) => {
    await v.go("POST", "/upload", upload());
  }),
  story("cookies", async (v) => {
    await v.go("GET", "/cookie", { headers: { Cookie: "choice=a%20b; old=1" } });
  }),
  story("bodies with every method", async (v) => {
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      await v.go(method, "/echo/7", { headers: { "Content-Type": "text/x-own" }, body: "x".repeat(20_000) });
    }
  }),
];

function upload() {
  return multipart([
    { name: "one", filename: "one.txt", type: "text/plain", data: "hello" },
    { name: "many[]", filename: "a.bin", type: "x/y", data: "a".repeat(200_000) },
    { name: "many[]", filename: "b.bin", type: "x/y", data: "b" },
    { name: "title", data: "T" },
    { name: "tags[]", data: "t1" },
  ]);
}

const laravelToken = /_token value=(\w+)/;

export const laravelStories: readonly Story[] = [
  ...common,
  story("the front page", async (v) => {
    await v.go("GET", "/");
    const { body } = v.seen.pop()!;
    if (!/bytes/.test(body)) throw new Error(`expected a page, got ${body}`);
  }),
  story("a form: without its token, invalid, valid; old input and flashes", async (v) => {
    const token = await tokenOf(v, laravelToken);
    await v.go("POST", "/form", { headers: { ...formType, Accept: "application/json" }, body: "name=Ann&age=1" });
    const back = { ...formType, Referer: "http://shop.example/form" };
    await v.go("POST", "/form", { headers: back, body: `_token=${token}&name=A&age=x` });
    await v.go("GET", "/form");
    await v.go("GET", "/form");
    await v.go("POST", "/form", { headers: back, body: `_token=${token}&name=J%C3%BCrg&age=41` });
    await v.go("GET", "/form");
    await v.go("GET", "/form");
    await v.go("POST", "/form", {
      headers: { ...formType, Accept: "application/json" },
      body: `_token=${token}&name=A`,
    });
  }),
  story("uploads", async (v) => {
    const token = await tokenOf(v, laravelToken);
    const form = upload();
    await v.go("POST", "/upload", { ...form, headers: { ...form.headers, "X-CSRF-TOKEN": token } });
  }),
  story("bodies with every method", async (v) => {
    const token = await tokenOf(v, laravelToken);
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      await v.go(method, "/echo/7", {
        headers: { "Content-Type": "text/x-own", "X-CSRF-TOKEN": token },
        body: "x".repeat(20_000),
      });
    }
  }),
  story("nothing of one visitor is there for the next", async (v) => {
    await v.go("GET", "/left", { anonymous: true });
    for (let i = 0; i < 3; i++) {
      await v.go("GET", "/leave?mine=1", { anonymous: true });
      await v.go("GET", "/left", { anonymous: true });
    }
  }),
];
