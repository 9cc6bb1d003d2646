/** `Fairlead\Bulkhead`, as PHP processes use it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { allowSlowTests, waitFor } from "../../support/wait.ts";
import { TinyStore } from "../../bulkhead/local/tiny_store.ts";
import { shapes, World } from "./support/world.ts";

allowSlowTests(30_000);

let world: World;
/** It takes as long as a client is patient: begun before everything else, and looked at in its place. */
let mute: Promise<unknown>;
beforeAll(async () => {
  world = await World.open();
  // A server that takes a connection and never says a word.
  mute = world.run(`
    $path = sys_get_temp_dir() . '/fairlead-mute-' . getmypid();
    $mute = stream_socket_server("unix://$path");
    $class = new ReflectionClassConstant('Fairlead\\\\Bulkhead\\\\Internal\\\\Connection', 'PATIENCE');
    $start = hrtime(true);
    try { (new Bulkhead('mute', 1, socket: $path))->acquire(); } catch (BulkheadUnavailableException $e) { $why = $e->getMessage(); }
    unlink($path);
    echo json_encode([str_contains($why, 'does not answer'), (hrtime(true) - $start) / 1e9 < $class->getValue() + 1]);
  `);
  mute.catch(() => {});
});
afterAll(() => world.close());
afterEach(async () => {
  await world.idle();
  expect(world.problems).toEqual([]);
});

describe("a bulkhead", () => {
  test("lets as many in as it has permits, and tells of it", async () => {
    const told = await world.run(`
      $log = [];
      $b = new Bulkhead('api', 2,
        onAccepted: function ($name, $waited) use (&$log) { $log[] = ['in', $name, is_float($waited)]; },
        onRejected: function ($name, $waited) use (&$log) { $log[] = ['out', $name, $waited >= 0]; });
      $one = $b->acquire();
      $two = $b->tryAcquire();
      $counts = [$b->availableSlots(), $b->activeCount(), $b->name(), $b->maxConcurrent()];
      $none = $b->tryAcquire();
      try { $b->call(fn () => 1); } catch (BulkheadFullException $e) {
        $full = [$e->name, $e->maxConcurrent, $e->reason, $e->waited >= 0, $e->retryAfter];
      }
      $two->release(); $two->release();
      $fences = [$one->fence(), $two->fence()];
      echo json_encode([$counts, $none, $full, $log, $b->call(fn () => 'done'), $b->availableSlots(),
        $fences[1] > $fences[0], [$one->isLost(), $one->isReleased(), $two->isReleased(), $one->position(), $one->waited()]]);
    `);
    expect(told).toEqual([
      [0, 2, "api", 2],
      null,
      ["api", 2, "full", true, 0.007],
      [["in", "api", true], ["in", "api", true], ["out", "api", true], ["out", "api", true]],
      "done",
      1,
      true,
      [false, false, true, 0, 0],
    ]);
  });

  test("is given back without a wait, also where the server stands still and has no room for more", async () => {
    const go = join(world.dir, "go");
    const php = world.start(
      `
      $b = new Bulkhead('still', 400);
      for ($i = 0; $i < 400; $i++) { $slots[] = $b->acquire(); }
      echo 'held ';
      while (!file_exists(getenv('GO'))) { usleep(1000); clearstatcache(); }
      $slowest = 0;
      foreach ($slots as $slot) {
        $from = hrtime(true);
        $slot->release();
        $slowest = max($slowest, hrtime(true) - $from);
      }
      echo $slowest < 1e9 ? 'at once' : 'held up';
    `,
      { GO: go },
    );
    await php.says("held");
    writeFileSync(go, "");
    // This process is the server.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    await php.ended;
    expect(php.text).toBe("held at once");
  });

  test("has weights, and an ask for more than there is is an error that costs nothing", async () => {
    const told = await world.run(`
      $b = new Bulkhead('heavy', 5);
      $slot = $b->acquire(3);
      $seen = [$slot->weight, $b->activeCount(), $b->tryAcquire(3), $b->tryAcquire(2)->weight];
      try { $b->acquire(6); } catch (InvalidArgumentException $e) { $seen[] = $e->getMessage(); }
      try { $b->acquire(0); } catch (InvalidArgumentException $e) { $seen[] = get_class($e); }
      $seen[] = $b->activeCount();
      echo json_encode($seen);
    `) as unknown[];
    expect(told.slice(0, 4)).toEqual([3, 3, null, 2]);
    expect(told[4]).toContain("Expected a weight from 1 to 5");
    expect(told.slice(5)).toEqual(["InvalidArgumentException", 3]);
  });

  test("gives permits back when its work throws, when a callback throws, and when nothing refers to them", async () => {
    const told = await world.run(`
      $seen = [];
      $b = new Bulkhead('throws', 1);
      try { $b->call(function () { throw new DomainException('work'); }); } catch (DomainException $e) { $seen[] = $e->getMessage(); }
      $seen[] = $b->activeCount();
      $loud = new Bulkhead('throws', 1, onAccepted: fn () => throw new DomainException('callback'));
      try { $loud->acquire(); } catch (DomainException $e) { $seen[] = $e->getMessage(); }
      $seen[] = $b->activeCount();
      $slot = $b->acquire();
      $slot = null;
      $seen[] = $b->activeCount();
      echo json_encode($seen);
    `);
    expect(told).toEqual(["work", 0, "callback", 0, 0]);
  });

  test("says what is wrong with what it is given", async () => {
    const told = await world.run(`
      $wrong = fn (callable $do) => (function () use ($do) {
        try { $do(); } catch (InvalidArgumentException $e) { return true; }
        return false;
      })();
      echo json_encode([
        $wrong(fn () => new Bulkhead('', 1)), $wrong(fn () => new Bulkhead("a\\n", 1)), $wrong(fn () => new Bulkhead('a b', 1)),
        $wrong(fn () => new Bulkhead(str_repeat('a', 129), 1)), $wrong(fn () => new Bulkhead('a', 0)),
        $wrong(fn () => new Bulkhead('a', 1, lease: 0)), $wrong(fn () => new Bulkhead('a', 1, maxWait: -1)),
        $wrong(fn () => new Bulkhead('a', 1, onUnavailable: 'maybe')), $wrong(fn () => new Bulkhead('a', 1, store: new stdClass())),
        $wrong(fn () => new Bulkhead('a', 1, lease: new stdClass())), $wrong(fn () => new KeyedBulkhead(maxQueue: -1)),
        $wrong(fn () => new Bulkhead(str_repeat('a', 128), 1)),
      ]);
    `);
    expect(told).toEqual([true, true, true, true, true, true, true, true, true, true, true, false]);
  });

  test("takes and tells lengths of time in the caller's own form", async () => {
    const told = await world.run(`require ${JSON.stringify(shapes)};
      use Rasuvaeff\\Duration\\Duration;
      $seen = [];
      $b = new SharedBulkhead(name: 'form', maxConcurrent: 1, lease: Duration::millis(500), maxWait: Duration::millis(20),
        pollInterval: Duration::millis(50), pollJitter: 0.5,
        onAccepted: function (string $name, Duration $waited) use (&$seen) { $seen[] = $waited->toMicros() < 1000; },
        onRejected: function (string $name, Duration $waited) use (&$seen) { $seen[] = $waited->toMicros() >= 19000; });
      $slot = $b->acquire();
      try { $b->acquire(); } catch (BulkheadFullException $e) { $seen[] = [$e->reason, get_class($e->waited)]; }
      $i = new Bulkhead('form', 1, lease: new DateInterval('PT1S'), maxWait: new DateInterval('PT0S'));
      $seen[] = [$b instanceof Bulkhead, $i->tryAcquire()];
      echo json_encode($seen);
    `);
    expect(told).toEqual([true, true, ["timeout", "Rasuvaeff\\Duration\\Duration"], [true, null]]);
  });

  test("of many keys has a share for each", async () => {
    const told = await world.run(`
      $k = new KeyedBulkhead();
      $a = KeyedBulkhead::name('reports', 'tenant 7/ä');
      $one = $k->acquire($a, 1);
      $names = [$a, KeyedBulkhead::name('reports', 'x')];
      echo json_encode([$names, $k->tryAcquire($a, 1), $k->tryAcquire($names[1], 1)->name, $k->call('plain', 1, fn () => 5),
        $k->availableSlots($a, 3), $k->activeCount($a)]);
    `);
    expect(told).toEqual([["reports/tenant~207~2f~c3~a4", "reports/x"], null, "reports/x", 5, 2, 1]);
  });
});

describe("a wait", () => {
  test("ends with the permit as soon as it is free, in order of arrival", async () => {
    const holder = world.start(
      `$s = (new Bulkhead('line', 1))->acquire(); echo 'held'; fgets(STDIN); $s->release(); fgets(STDIN);`,
    );
    await holder.says("held");
    const waiters = [];
    for (const n of [0, 1]) {
      const php = world.start(`$s = (new Bulkhead('line', 1, maxWait: 20))->acquire();
        echo json_encode(['got', $s->position(), $s->waited() > 0]); fgets(STDIN); $s->release();`);
      waiters.push(php);
      await waitFor(() => world.store.counts("line")!.queued === n + 1, { what: "it to wait", every: 1 });
    }
    holder.go();
    await waiters[0]!.says(`["got",0,true]`);
    expect(waiters[1]!.text).toBe("");
    waiters[0]!.go();
    await waiters[1]!.says(`["got",1,true]`);
    waiters[1]!.go();
    holder.go();
  });

  test("is over for others at once when its process is killed", async () => {
    const [holder, dying] = ["holder", "dying"].map((word) =>
      world.start(`$s = (new Bulkhead('kill', 1, maxWait: 20))->acquire(); echo '${word}'; fgets(STDIN);`)
    );
    await waitFor(() => world.store.counts("kill")?.queued === 1, { what: "one to hold, and one to wait", every: 1 });
    const waiting = holder!.text === "" ? holder! : dying!;
    waiting.kill();
    await waitFor(() => world.store.counts("kill")!.queued === 0, { what: "nobody to wait", every: 1 });
    for (const php of [holder!, dying!]) php.kill();
  });
});

describe("permits", () => {
  test("come back within milliseconds when their holder is killed, and the next one has them", async () => {
    const took: number[] = [];
    for (let i = 0; i < 10; i++) {
      const holder = world.start(`$s = (new Bulkhead('die', 1))->acquire(); echo 'held'; sleep(60);`);
      await holder.says("held");
      const next = world.store.acquire({ name: "die", limit: 1, weight: 1, leaseMs: 60_000, maxWaitMs: 10_000 });
      const killed = performance.now();
      holder.kill();
      const grant = await next;
      took.push(performance.now() - killed);
      if (grant.granted) grant.release();
    }
    // The machine may be busy: the best of a few tells what it takes.
    expect(Math.min(...took)).toBeLessThan(50);
  });

  test("come back when their holder ends, although a program that it has started lives on", async () => {
    const ends = [
      "exit(0);",
      "throw new Exception('x');",
      "str_repeat('x', 1 << 40);",
      "posix_kill(getmypid(), SIGKILL);",
    ];
    for (const end of ends) {
      const php = world.start(`$s = (new Bulkhead('end', 1))->acquire();
        exec('sleep 30 > /dev/null 2>&1 & echo $!', $pid);
        echo $pid[0], ' held'; fgets(STDIN); ${end}`);
      await php.says("held");
      const sleeper = Number(php.text.split(" ")[0]);
      try {
        php.go();
        await waitFor(() => world.store.idle, { what: `the permit to be back after ${end}`, every: 1, timeout: 3000 });
        expect(process.kill(sleeper, 0)).toBe(true);
      } finally {
        process.kill(sleeper, "SIGKILL");
      }
    }
  });

  test("stay their holder's when it forks, and a child has its own", async () => {
    const told = await world.run(`
      $b = new Bulkhead('fork', 2);
      $slot = $b->acquire();
      $pipe = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
      $pid = pcntl_fork();
      if ($pid === 0) {
        $slot->release();
        $own = $b->acquire();
        fwrite($pipe[1], json_encode([$b->activeCount(), $b->tryAcquire()]) . "\\n");
        exit;
      }
      $child = json_decode(fgets($pipe[0]));
      pcntl_waitpid($pid, $status);
      $other = null;
      for ($i = 0; $i < 1000 && ($other = $b->tryAcquire()) === null; $i++) usleep(1000);
      echo json_encode([$child, $slot->isLost(), $other !== null, $b->activeCount()]);
    `);
    expect(told).toEqual([[2, null], false, true, 2]);
  });

  test("that are lost are told", async () => {
    const php = world.start(`$s = (new Bulkhead('lost', 1))->acquire(); echo $s->isLost() ? 'no' : 'held'; fgets(STDIN);
      echo json_encode(['lost', $s->isLost(), (new Bulkhead('lost', 1))->tryAcquire() !== null]); $s->release();`);
    await php.says("held");
    for (const grant of [...world.store.grants]) grant.lose();
    php.go();
    await php.says(`["lost",true,true]`);
    expect(await php.ended).toBe(0);
  });
});

describe("without a server", () => {
  test("it is an exception, or everybody is let in", async () => {
    const told = await world.run(
      `
      $seen = [];
      try { (new Bulkhead('a', 1))->acquire(); } catch (BulkheadUnavailableException $e) { $seen[] = $e->getMessage(); }
      $open = new Bulkhead('a', 1, onUnavailable: 'open');
      $slots = [$open->acquire(), $open->acquire()];
      $seen[] = [$slots[0]->fence(), $slots[0]->isLost(), $open->call(fn () => 1)];
      try { $open->activeCount(); } catch (BulkheadUnavailableException $e) { $seen[] = 'unknown'; }
      putenv('FAIRLEAD_BULKHEAD_SOCKET');
      try { (new Bulkhead('a', 1))->acquire(); } catch (BulkheadUnavailableException $e) { $seen[] = $e->getMessage(); }
      echo json_encode($seen);
    `,
      { FAIRLEAD_BULKHEAD_SOCKET: "/nowhere/b.sock" },
    ) as string[];
    expect(told[0]).toContain("Cannot reach the bulkheads at /nowhere/b.sock");
    expect(told.slice(1, 3)).toEqual([[0, false, 1], "unknown"] as never);
    expect(told[3]).toContain("Expected FAIRLEAD_BULKHEAD_SOCKET to name the socket");
  });

  test("that was there, what was held is lost; when there is one again, it is used", async () => {
    const own = await World.open();
    try {
      const php = own.start(`$b = new Bulkhead('again', 1); $s = $b->acquire(); echo 'held'; fgets(STDIN);
        $seen = [$s->isLost()];
        try { $b->acquire(); } catch (BulkheadUnavailableException) { $seen[] = 'gone'; }
        echo 'gone'; fgets(STDIN);
        $t = $b->acquire(); $s->release();
        echo json_encode([...$seen, $t->isLost(), $b->activeCount()]);`);
      await php.says("held");
      own.server!.close();
      expect(own.store.idle).toBe(true);
      php.go();
      await php.says("heldgone");
      await own.listen();
      php.go();
      await php.says(`[true,"gone",false,1]`);
    } finally {
      await own.close();
    }
  });

  test("that answers, it ends in time", async () => {
    expect(await mute).toEqual([true, true]);
  });
});

describe("code written for rasuvaeff/bulkhead", () => {
  /** The loop its users know: ask, sleep, ask again. */
  const loop = `require ${JSON.stringify(shapes)};
    use Rasuvaeff\\Duration\\Duration;
    use Fairlead\\Bulkhead\\Store\\{ServerBulkheadStore, ServerBatchBulkheadStore, SocketSleeper};
    $poll = function ($store, $sleeper, string $name, int $max, int $maxWaitMs, int $everyMs = 50): array {
      $slept = 0; $rounds = 0;
      while (($token = $store->tryAcquire($name, $max, Duration::millis(5000))) === null && $slept < $maxWaitMs * 1000) {
        $us = min($everyMs * 1000, $maxWaitMs * 1000 - $slept);
        $sleeper->sleep(Duration::micros($us));
        $slept += $us;
        $rounds++;
      }
      return [$token, $rounds];
    };`;

  test("stands in line when it sleeps, and has its permit when it is free", async () => {
    const holder = world.start(
      `$s = (new Bulkhead('poll', 1))->acquire(); echo 'held'; fgets(STDIN); $s->release(); sleep(60);`,
    );
    await holder.says("held");
    const polling = world.start(`${loop}
      $store = new ServerBulkheadStore(Duration::millis(20000)); $sleeper = new SocketSleeper($store);
      echo 'ready';
      [$token, $rounds] = $poll($store, $sleeper, 'poll', 1, 20000, 10000);
      echo json_encode(['got', $rounds, $store->activeCount('poll')]); fgets(STDIN);
      $store->release('poll', $token); $store->release('poll', $token);
      echo json_encode(['free', $store->activeCount('poll')]); fgets(STDIN);`);
    await waitFor(() => world.store.counts("poll")!.queued === 1, { what: "it to stand in line", every: 1 });
    holder.go();
    await polling.says(`["got",1,1]`);
    polling.go();
    await polling.says(`["free",0]`);
    polling.kill();
    holder.kill();
  });

  test("keeps its place from sleep to sleep, and leaves nothing in line when it gives up", async () => {
    const holder = world.start(`$s = (new Bulkhead('give', 1))->acquire(); echo 'held'; fgets(STDIN); sleep(60);`);
    await holder.says("held");
    const polling = world.start(`${loop}
      $store = new ServerBulkheadStore(1.0); $sleeper = new SocketSleeper($store);
      $start = hrtime(true);
      [$token, $rounds] = $poll($store, $sleeper, 'give', 1, 1000, 100);
      echo json_encode(['end', $token, $rounds, (hrtime(true) - $start) / 1e6 >= 999]); fgets(STDIN);`);
    await waitFor(() => world.store.counts("give")!.queued === 1, { what: "it to stand in line", every: 1 });
    await polling.says(`["end",null,10,true]`);
    expect([world.store.counts("give")!.queued, world.store.counts("give")!.active]).toEqual([0, 1]);
    polling.kill();
    holder.kill();
  });

  test("that asks for something else meanwhile gives up its place, and what was on its way", async () => {
    const told = await world.run(`${loop}
      $store = new ServerBatchBulkheadStore(5); $sleeper = new SocketSleeper($store);
      $a = $store->tryAcquire('x', 1, Duration::millis(1000));
      $none = $store->tryAcquire('x', 1, Duration::millis(1000));
      $sleeper->sleep(Duration::millis(5));
      $before = (new Bulkhead('x', 1))->activeCount();
      $y = $store->tryAcquire('y', 1, Duration::millis(1000));
      $store->release('x', $a);
      $store->release('x', 'made-up');
      $counts = $store->activeCounts(['x', 'y', 'z', 'x']);
      $store->release('y', $y);
      echo json_encode([$none, $before, $counts, $store->activeCounts([])]);
    `);
    expect(told).toEqual([null, 1, { x: 0, y: 1, z: 0 }, []]);
  });
});

test("a store that answers late is no different", async () => {
  const own = await World.open({}, new TinyStore(true));
  try {
    expect(
      await own.run(`$b = new Bulkhead('slow', 1, maxWait: 0.02); $s = $b->acquire();
        try { $b->acquire(); } catch (BulkheadFullException $e) { $why = $e->reason; }
        $s->release(); echo json_encode([$why, $b->call(fn () => 7)]);`),
    ).toEqual(["timeout", 7]);
    await own.idle();
  } finally {
    await own.close();
  }
});
