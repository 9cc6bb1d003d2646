import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, type Reply, startWorker } from "./host.ts";

const cookiesOf = ({ headers }: Reply) => headers.filter((line) => /^set-cookie:/i.test(line));
const untouched = JSON.stringify(["", 1, false, false]);

for (const [kind, script] of [["files", "routes.php"], ["a handler of the script's", "user_sessions.php"]] as const) {
  describe(`FrankenPHP runtime: sessions in ${kind}`, () => {
    let worker: Host;
    beforeAll(async () => {
      worker = await startWorker(script);
    });
    afterAll(async () => {
      expect(await worker.stop()).toEqual({ code: 0, stderr: "" });
    });
    const ask = (path: string, id?: string, query = "") =>
      worker.ask({ path, query, headers: id === undefined ? {} : { cookie: `PHPSESSID=${id}` } });
    const begin = async (secret: string) => {
      const reply = await ask("/session-set", undefined, `v=${secret}`);
      expect(cookiesOf(reply)).toEqual([`Set-Cookie: PHPSESSID=${reply.body}; path=/`]);
      return reply.body;
    };

    test("are each client's own", async () => {
      const [anna, bert] = [await begin("anna's"), await begin("bert's")];
      expect(anna).not.toBe(bert);
      for (let i = 0; i < 3; i++) {
        expect((await ask("/session-get", anna)).body).toBe("anna's");
        expect((await ask("/session-look")).body).toBe(untouched);
        expect((await ask("/session-get", bert)).body).toBe("bert's");
        const stranger = await ask("/session-get");
        expect(stranger.body).toBe("none");
        expect(cookiesOf(stranger).length).toBe(1);
      }
    });

    test("have no new cookie when the client has one", async () => {
      const id = await begin("s");
      for (let i = 0; i < 2; i++) {
        const reply = await ask("/session-get", id);
        expect([reply.body, cookiesOf(reply)]).toEqual(["s", []]);
        expect(reply.headers).toContain("Pragma: no-cache");
      }
    });

    test("are stored before the response is whole", async () => {
      const id = await begin("stored");
      if (kind !== "files") return;
      expect(readFileSync(join(worker.folder, `sess_${id}`), "utf8")).toBe('secret|s:6:"stored";');
    });

    test("leave nothing behind in a reference", async () => {
      expect((await ask("/session-reference")).body).toBe('{"secret":"kept"}');
      expect((await ask("/session-reference")).body).toBe("[]");
      expect((await ask("/session-look")).body).toBe(untouched);
    });

    test("can be regenerated and destroyed", async () => {
      const id = await begin("moving");
      const reply = await ask("/session-regenerate", id);
      expect(reply.body).not.toBe(id);
      expect(cookiesOf(reply)).toEqual([`Set-Cookie: PHPSESSID=${reply.body}; path=/`]);
      expect((await ask("/session-get", reply.body)).body).toBe("moving");
      expect((await ask("/session-get", id)).body).toBe("none");
      expect((await ask("/session-destroy", reply.body)).body).toBe("");
      expect((await ask("/session-look")).body).toBe(untouched);
      expect((await ask("/session-get", reply.body)).body).toBe("none");
    });

    test("keep their settings to the request", async () => {
      const named = await worker.ask({ path: "/session-name" });
      expect(cookiesOf(named)[0]).toContain("Set-Cookie: OTHER=");
      expect(cookiesOf(named)[0]).toContain("SameSite=Lax");
      expect((await worker.ask({ path: "/session-ini" })).body).toBe('["PHPSESSID","","1440"]');
      const id = await begin("as before");
      expect((await ask("/session-get", id)).body).toBe("as before");
    });
  });
}

describe("FrankenPHP runtime: a session in a process that ends", () => {
  test("is stored on exit()", async () => {
    const worker = await startWorker("routes.php");
    const reply = await worker.ask({ path: "/exit-session" });
    expect(reply.whole).toBe(true);
    const [file = ""] = readdirSync(worker.folder).filter((name) => name.startsWith("sess_"));
    expect(cookiesOf(reply)[0]).toContain(`PHPSESSID=${file.slice(5)}`);
    expect(readFileSync(join(worker.folder, file), "utf8")).toBe('name|s:6:"exited";');
    await worker.close();
  });
});
