/** Processes that break the protocol, or end in odd ways. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { cliCommand } from "../../../plugins/php/native/command.ts";
import { nativeLaunch } from "../../../plugins/php/native/launch.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";
import { openWorld, Started, until, type World } from "./support/world.ts";

allowSlowTests(30_000);

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

describe("a process that breaks the protocol", () => {
  test("is told as broken, with what it did", async () => {
    const answers: readonly (readonly [string, string])[] = [
      ["one of type 12", "frame(12, 0, $n, 'x')"],
      ["flags 32", "frame(3, 32, $n)"],
      ["one of type 47", "'HTTP/1.1 200 OK<br>and so on'"],
      ["of request 99 while 1 runs", "frame(3, 3, 99, 'x')"],
      ["the answer is not whole", "frame(3, 2, $n)"],
      ["type 1 behind the hello", "hello()"],
      ["no request runs", "frame(3, 3, $n, \"\\r\\n\") . frame(3, 0, $n, 'more')"],
    ];
    for (const [says, bytes] of answers) {
      const one = await world.startBare(`$s = connect(); $n = request($s); fwrite($s, ${bytes}); sleep(60);`).up();
      one.send();
      const exit = await one.gone();
      expect([says, one.broken?.code, one.broken?.message]).toEqual([
        says,
        "PHP_PROTOCOL",
        expect.stringContaining(says),
      ]);
      expect(exit.signal).toBe("SIGKILL");
    }
  });

  test("is broken when it speaks another version, or is a parent", async () => {
    const newer = world.startBare("connect(['v' => 9]); sleep(60);");
    await newer.gone();
    expect(newer.broken?.code).toBe("PHP_WORKER_VERSION");
    const parent = world.startBare("connect(['role' => 'parent']); sleep(60);");
    await parent.gone();
    expect(parent.broken?.message).toContain("found one that forks others");
  });

  test("is no worker with another's token", async () => {
    const one = world.startBare(`
      $s = connect(['token' => str_repeat('0', 32)]);
      echo stream_get_contents($s) === '' ? "turned away\\n" : "let in\\n";`);
    expect((await one.gone()).lastWords).toEqual(["turned away"]);
    expect([one.ready, one.broken]).toEqual([0, undefined]);
  });

  test("is broken when it closes its connection and goes on", async () => {
    const one = await world.startBare("$s = connect(); request($s); fclose($s); sleep(60);").up();
    const sink = one.send();
    await one.gone();
    expect(one.broken?.code).toBe("PHP_WORKER_LOST");
    expect(sink.finals).toBe(0);
  });

  test("may take its time when it was asked to end", async () => {
    const one = await world.startBare("$s = connect(); request($s); fclose($s); usleep(700000); exit(7);").up();
    one.worker.stop();
    expect(await one.gone()).toMatchObject({ code: 7 });
    expect(one.broken).toBe(undefined);
  });
});

describe("a process that ends", () => {
  test("is heard out, however slowly its answer is taken", async () => {
    const one = await world.startBare(`
      $s = connect(); $n = request($s);
      fwrite($s, frame(3, 0, $n, "\\r\\n") . frame(7, 0, $n) . frame(3, 1, $n, str_repeat('x', 100000)));`).up();
    const sink = one.send();
    sink.onChunk = () => one.worker.pause();
    const exit = await one.gone();
    expect(exit).toMatchObject({ code: 0 });
    expect([sink.stdout.length, sink.finals, one.stopAsked]).toEqual([100_002, 1, 1]);
  });

  test("takes what it has started with it", async () => {
    const pidFile = join(world.dir, "child.pid");
    const one = await world.startBare(`
      $s = connect();
      $p = proc_open(['sleep', '60'], [], $pipes);
      file_put_contents(${JSON.stringify(pidFile)}, (string) proc_get_status($p)['pid']);
      request($s);
      posix_kill(getmypid(), SIGKILL);`).up();
    one.send();
    expect(await one.gone()).toMatchObject({ signal: "SIGKILL" });
    const pid = Number(readFileSync(pidFile, "utf8"));
    await until(
      "its child to be gone",
      () => !existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z"),
    );
  });

  test("before its hello is told with its words", async () => {
    const one = world.startBare('fwrite(STDERR, "no database\\n"); exit(3);');
    expect(await one.gone()).toMatchObject({ code: 3, lastWords: ["no database"] });
    expect([one.ready, one.broken]).toEqual([0, undefined]);
  });

  test("is told when it cannot be started at all", async () => {
    const launch = nativeLaunch({ command: cliCommand("/nowhere/php", "/x.php"), door: world.door, env: {} });
    const one = new Started(launch);
    const exit = await one.gone();
    expect(exit.code).not.toBe(0);
    expect(exit.lastWords.join("\n")).toContain("/nowhere/php");
  });

  test("is told when it is killed while it boots", async () => {
    const one = world.startBare("sleep(60);");
    one.worker.kill();
    expect(await one.gone()).toMatchObject({ signal: "SIGKILL" });
  });

  test("is killed with a request under way, whose sink hears nothing more", async () => {
    const one = await world.startBare(
      "$s = connect(); $n = request($s); while (true) fwrite($s, frame(3, 0, $n, 'x'));",
    ).up();
    const sink = one.send();
    await until("an answer", () => sink.chunks.length > 0);
    one.worker.kill();
    const before = sink.chunks.length;
    expect(await one.gone()).toMatchObject({ signal: "SIGKILL" });
    expect([sink.chunks.length, sink.finals, one.broken]).toEqual([before, 0, undefined]);
  });
});

describe("the environment of a process", () => {
  test("has what it was given and what the protocol needs", async () => {
    const one = await world.startBare(`
      $names = ['DIR', 'FAIRLEAD_WORKER', 'FAIRLEAD_ISOLATION', 'FAIRLEAD_SOCKET'];
      echo json_encode(array_map(getenv(...), $names)), "\\n", strlen(getenv('FAIRLEAD_TOKEN')), "\\n";
      echo getenv('HOME') === false ? "no more\\n" : "more\\n";
      $s = connect(); request($s);`).up();
    await waitFor(() => one.lines.length === 3, { what: "its lines" });
    expect(JSON.parse(one.lines[0]!)).toEqual([world.dir, "1", "none", world.door.path]);
    expect(one.lines.slice(1)).toEqual(["32", "no more"]);
    expect(one.worker.pid).toBeGreaterThan(0);
    expect(one.worker.pid).not.toBe(process.pid);
  });
});
