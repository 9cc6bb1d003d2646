import { afterEach, describe, expect, test } from "bun:test";
import { type Host, type HostOptions, startWorker } from "./host.ts";

describe("FrankenPHP runtime: how requests and workers end", () => {
  const started: Host[] = [];
  const start = async (script = "routes.php", options: HostOptions = {}) => {
    const worker = await startWorker(script, options);
    started.push(worker);
    return worker;
  };
  afterEach(async () => {
    for (const worker of started.splice(0)) await worker.close();
  });

  test("exit() sends what there is, shutdown functions included, and ends with its code", async () => {
    const worker = await start();
    await worker.ask();
    const reply = await worker.ask({ path: "/exit" });
    expect([reply.status, reply.body, reply.whole]).toEqual([418, "bye, from shutdown", true]);
    expect(reply.headers[0]).toBe("X-Tea: pot");
    expect(await worker.ended).toEqual({ code: 3, stderr: "" });
  });

  test("tells that it leaves, instead of being ready, when the script ends its loop", async () => {
    const worker = await start("three.php");
    for (let i = 0; i < 3; i++) expect((await worker.ask()).body).toBe(`request ${i}`);
    const { code, stderr } = await worker.ended;
    expect([code, stderr]).toEqual([0, "after the loop\n"]);
    expect(worker.leaves).toBe(1);
  });

  test("answers an uncaught exception with 500 and its message, and goes on", async () => {
    const worker = await start();
    const reply = await worker.ask({ path: "/throw" });
    expect(reply.status).toBe(500);
    expect(reply.headers[0]).toBe("X-Kept: 1");
    expect(reply.body).toContain("partly \nFatal error: Uncaught DomainException: no <such> thing in ");
    expect(reply.body).toMatch(/Stack trace:\n#0 [^]*\n {2}thrown in \S+endings\.php on line \d+\n$/);
    expect((await worker.ask()).body).toBe("hello 2");
    const late = await worker.ask({ path: "/throw-late" });
    expect([late.status, late.body.slice(0, 18)]).toEqual([200, "sent \nFatal error:"]);
    for (let i = 0; i < 3; i++) {
      const buffer = await worker.ask({ path: "/throw-in-buffer" });
      expect([buffer.status, buffer.whole]).toEqual([500, true]);
      expect(buffer.body).toContain("Uncaught DomainException: from a buffer in ");
      const caught = await worker.ask({ path: "/catch-in-buffer" });
      expect([caught.status, caught.body.includes("has thrown: what was printed since is lost")]).toEqual([500, true]);
    }
    expect((await worker.ask({ path: "/nested" })).body).toContain("while a request is being handled");
    expect((await worker.stop()).stderr).toContain("PHP Fatal error:  Uncaught DomainException: no <such> thing in ");
  });

  test("shows nothing of it without display_errors, and HTML with html_errors", async () => {
    const quiet = await start("routes.php", { ini: { display_errors: "0" } });
    const reply = await quiet.ask({ path: "/throw" });
    expect([reply.status, reply.body]).toEqual([500, "partly "]);
    const html = await start("routes.php", { ini: { html_errors: "1" } });
    expect((await html.ask({ path: "/throw" })).body).toContain(
      "<br />\n<b>Fatal error</b>:  Uncaught DomainException: no &lt;such&gt; thing in",
    );
  });

  test("gives an uncaught exception to the script's handler", async () => {
    const worker = await start();
    const reply = await worker.ask({ path: "/handled" });
    expect([reply.status, reply.body]).toEqual([422, "handled: mine"]);
  });

  test("answers a fatal error with 500, and does not complete what it cut off", async () => {
    const worker = await start();
    const reply = await worker.ask({ path: "/fatal" });
    expect([reply.status, reply.whole, reply.body.slice(0, 14)]).toEqual([500, true, "x\nFatal error:"]);
    expect((await worker.ended).code).toBe(255);
    const late = await start();
    const cut = await late.ask({ path: "/fatal-late" });
    expect([cut.status, cut.whole, cut.leaving]).toEqual([200, false, true]);
  });

  test("answers when its memory is used up", async () => {
    const worker = await start("routes.php", { ini: { memory_limit: "16M" } });
    const reply = await worker.ask({ path: "/memory" });
    expect([reply.status, reply.whole]).toEqual([500, true]);
    expect((await worker.ended).code).toBe(255);
  });

  test("leaves after a request whose buffer cannot be removed", async () => {
    const worker = await start();
    expect((await worker.ask({ path: "/buffer-fixed" })).body).toBe("fixed");
    expect(await worker.ended).toEqual({ code: 0, stderr: "" });
    expect(worker.leaves).toBe(1);
  });

  test("answers the running request before a stop", async () => {
    const worker = await start();
    await worker.ask();
    const answer = worker.ask({ path: "/sleep" });
    await worker.idle();
    const stopped = worker.stop();
    expect((await answer).body).toBe("slept");
    expect((await stopped).code).toBe(0);
  });

  test("ends when Fairlead is gone", async () => {
    const worker = await start();
    await worker.ask();
    await worker.idle();
    worker.hangUp();
    expect(await worker.ended).toEqual({ code: 0, stderr: "" });
  });

  test("tells on stderr why it has not booted", async () => {
    const thrown = await start("boot_throws.php");
    const { code, stderr } = await thrown.ended;
    expect(code).toBe(255);
    expect(stderr).toContain("Uncaught RuntimeException: no database");
    const exited = await start("boot_exits.php");
    expect(await exited.ended).toEqual({
      code: 7,
      stderr: "Configuration is missing.\nThe script has ended without a call of frankenphp_handle_request()\n",
    });
    const alone = await start("boot_exits.php", { env: { FAIRLEAD_SOCKET: "/nowhere", GO: "1" } });
    expect((await alone.ended).stderr).toContain("Cannot connect to Fairlead at /nowhere");
  });

  test("takes what it prints while it boots for a log", async () => {
    const worker = await start("three.php", { env: { LOUD: "1" } });
    expect((await worker.ask()).body).toBe("request 0");
    expect((await worker.stop()).stderr).toBe("booting\nafter the loop\n");
  });

  test("declares all the functions that are disabled for it", async () => {
    const worker = await start();
    await worker.ask();
    expect(worker.logs).toEqual([]);
  });

  test("is no worker without Fairlead", async () => {
    const alone = await start("outside.php", { env: { FAIRLEAD_WORKER: "" }, ini: { disable_functions: "" } });
    const { stderr } = await alone.ended;
    expect(stderr).toBe("frankenphp_handle_request() called while not in worker mode\nfalse\n");
  });

  test("works, if less well, where no function is disabled", async () => {
    const worker = await start("routes.php", { ini: { disable_functions: "" } });
    expect((await worker.ask({ path: "/status", query: "s=404" })).status).toBe(404);
    expect((await worker.ask({ path: "/buffers" })).body).toContain("in");
    expect(worker.logs[0]).toContain("2 These functions will not know of requests");
    expect(worker.logs[0]).toContain("move_uploaded_file");
  });
});
