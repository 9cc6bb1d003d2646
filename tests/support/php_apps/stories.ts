/**
 * What visitors do with the application in `parity/`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { formType, jsonType, multipart, type Visitor } from "./visitor.ts";

export interface Story {
  readonly name: string;
  tell(visitor: Visitor): Promise<void>;
}

const story = (name: string, tell: (v: Visitor) => Promise<void>): Story => ({ name, tell });

const get = (name: string, ...paths: readonly string[]): Story =>
  story(name, async (v) => {
    for (const path of paths) await v.go("GET", path);
  });

const bytes = (length: number, seed: number): Buffer => {
  const made = Buffer.alloc(length);
  for (let i = 0, x = seed; i < length; i++) made[i] = (x = (x * 1_103_515_245 + 12_345) & 0x7fffffff) >> 16;
  return made;
};

async function form(v: Visitor): Promise<string> {
  const page = await v.go("GET", "/form");
  const token = /token value=(\w+)/.exec(Buffer.from(page.body).toString())![1]!;
  v.hide(token, "token");
  // Written down before it had a name.
  v.seen.pop();
  await v.go("GET", "/form");
  return token;
}

/** Through every door. */
export const stories: readonly Story[] = [
  get("pages and what is missing", "/", "/nope", "/a%20b", "/empty", "/big", "/binary"),
  get("status codes", "/status/201", "/status/202", "/status/204", "/status/400", "/status/418", "/status/503"),
  story("a session that counts, and another one", async (v) => {
    for (let i = 0; i < 4; i++) await v.go("GET", "/count");
    await v.go("GET", "/count", { anonymous: true });
  }),
  story("a form with its token: expired, invalid, valid; flashes seen once", async (v) => {
    const token = await form(v);
    await v.go("POST", "/form", { headers: formType, body: "token=wrong&name=A&age=1" });
    await v.go("POST", "/form", { headers: formType, body: `token=${token}&name=&age=old` });
    await v.go("GET", "/form");
    await v.go("POST", "/form", { headers: formType, body: `token=${token}&name=J%C3%BCrgen+%3Cb%3E&age=4x` });
    await v.go("GET", "/form");
    await v.go("POST", "/form", { headers: formType, body: `token=${token}&name=Ann&age=41` });
    await v.go("GET", "/form");
    await v.go("GET", "/form");
  }),
  story("uploads: one, arrays, nested, empty, with fields between", async (v) => {
    await v.go("POST", "/upload", multipart([{ name: "file", filename: "a.txt", type: "text/plain", data: "hello" }]));
    await v.go(
      "POST",
      "/upload",
      multipart([
        { name: "title", data: "gr\xc3\xbcn" },
        { name: "files[]", filename: "a.bin", type: "application/octet-stream", data: bytes(3000, 1) },
        { name: "tags[]", data: "x" },
        { name: "tags[]", data: "y" },
        { name: "files[]", filename: "b.png", type: "image/png", data: bytes(70_000, 2) },
        { name: "doc[main]", filename: "main.pdf", type: "application/pdf", data: "%PDF" },
        { name: "doc[extra][0]", filename: "extra.pdf", type: "application/pdf", data: "" },
        { name: "a[b][c]", data: "deep" },
      ]),
    );
    await v.go("POST", "/upload", { headers: formType, body: "a[]=1&a[]=2&b[x][y]=3&c=%26%3D+%2B" });
  }),
  story("an upload of 8 MB", async (v) => {
    await v.go(
      "POST",
      "/upload",
      multipart([{ name: "big", filename: "big.bin", type: "x/y", data: bytes(8 << 20, 3) }]),
    );
  }),
  story("JSON: read, validated, refused", async (v) => {
    await v.go("GET", "/json?a=1&b[]=2&b[]=3&c[d]=e");
    await v.go("POST", "/json", { headers: jsonType, body: '{"title":"T","n":[1,2,{"x":null}]}' });
    await v.go("POST", "/json", { headers: jsonType, body: '{"n":1}' });
    await v.go("POST", "/json", { headers: jsonType, body: "{" });
  }),
  get("a stream", "/stream"),
  get("an exception with a page of the application's", "/caught"),
  story("cookies, both ways", async (v) => {
    await v.go("GET", "/cookies", { headers: { Cookie: "a=1; b=x%20y; c=; d=%C3%BC" } });
  }),
  story("headers, both ways", async (v) => {
    await v.go("GET", "/headers", {
      headers: {
        "X-One": "1",
        "X-Many": "a, b",
        Accept: "text/html",
        "Accept-Language": "de",
        Authorization: "Bearer t.o.k",
        "User-Agent": "test",
      },
    });
  }),
  story("HEAD", async (v) => {
    for (const path of ["/", "/json", "/nope", "/redirect?to=/x"]) await v.go("HEAD", path);
  }),
  story("bodies with every method, up to 1 MB", async (v) => {
    for (const method of ["PUT", "PATCH", "DELETE", "POST"]) {
      await v.go(method, "/echo", { headers: { "Content-Type": "text/x-any" }, body: bytes(5000, 4) });
    }
    await v.go("DELETE", "/echo");
    await v.go("PUT", "/echo", { headers: { "Content-Type": "application/octet-stream" }, body: bytes(1 << 20, 5) });
  }),
  get("a query of 12 KB", `/query?${Array.from({ length: 600 }, (_, i) => `key[${i}][v]=${i}%20x`).join("&")}`),
  get(
    "redirects",
    "/redirect?to=/form",
    "/redirect?to=https://example.com/a%3Fb&status=301",
    "/redirect?to=/&status=307",
  ),
];

/** Through the doors that have superglobals. */
export const plainStories: readonly Story[] = [
  get(
    "uncaught exceptions, fatal errors, warnings",
    "/uncaught",
    "/plain/uncaught",
    "/plain/fatal",
    "/plain/warning",
    "/",
  ),
  story("$_SERVER", async (v) => {
    v.hide(`"SERVER_PORT": "${v.port}"`, "port");
    await v.go("GET", "/plain/server?a=b&c", { headers: { "X-Any-Thing": "1", Accept: "*/*" } });
    await v.go("GET", "/plain/server/", {});
    await v.go("POST", "/plain/server", { headers: formType, body: "a=b" });
    await v.go("GET", "/plain/server?%41=%2F");
  }),
  story("$_GET, $_POST, $_REQUEST, $_COOKIE", async (v) => {
    await v.go("POST", "/plain/globals?a=1&b.c=2&d+e=3&f[g.h]=4&i[]=5&i[]=6&j[[=7", {
      headers: { ...formType, Cookie: "c=d; e.f=g; h[i]=j" },
      body: "a=posted&k.l=8&m[n][]=9&m[n][]=10&o",
    });
    await v.go("PUT", "/plain/globals", { headers: formType, body: "a=not+parsed" });
  }),
  story("$_FILES and is_uploaded_file", async (v) => {
    await v.go(
      "POST",
      "/plain/files",
      multipart([
        { name: "one", filename: "dir/sub/o'ne.txt", type: "text/plain", data: "1" },
        { name: "many[]", filename: "a", data: "a" },
        { name: "many[]", filename: "b", data: "bb" },
        { name: "none", filename: "", data: "" },
        { name: "doc[main]", filename: "m.pdf", type: "application/pdf", data: "m" },
        { name: "text", data: "t" },
      ]),
    );
  }),
  story("move_uploaded_file", async (v) => {
    await v.go("POST", "/plain/move", multipart([{ name: "file", filename: "m", data: bytes(300_000, 6) }]));
  }),
  story("php://input, twice and from within", async (v) => {
    await v.go("POST", "/plain/input", { headers: jsonType, body: '{"some":"json"}' });
    await v.go("POST", "/plain/input", { headers: formType, body: "form=data&more=1" });
    await v.go("PUT", "/plain/input", { headers: { "Content-Type": "x/y" }, body: bytes(400_000, 7) });
  }),
  get("setcookie", "/plain/cookies"),
  get("exit and die", "/plain/exit", "/", "/plain/die", "/"),
  get("status lines and locations", "/plain/status-line", "/plain/location", "/plain/location-201", "/"),
  get("output buffers left open", "/plain/buffers", "/"),
  get("flush before a header", "/plain/flush", "/"),
  story("sessions: counted, renewed, ended", async (v) => {
    for (const page of ["session", "session", "session-new-id", "session", "session-end", "session"]) {
      await v.go("GET", `/plain/${page}`);
    }
  }),
  get(
    "headers added, replaced and removed",
    "/plain/headers",
    "/plain/type",
    "/plain/no-type",
    "/plain/nothing",
    "/plain/length",
  ),
  story("getallheaders and basic auth", async (v) => {
    await v.go("GET", "/plain/getallheaders", { headers: { "X-A": "1", Authorization: "Basic dTpwOndvcmQ=" } });
    await v.go("GET", "/plain/auth", { headers: { Authorization: "Basic dTpwOndvcmQ=" } });
    await v.go("GET", "/plain/auth");
  }),
  get("filter_input", "/plain/filter?n=42", "/plain/filter"),
  get("2 MB in many pieces", "/plain/large"),
];
