import { expect, test } from "bun:test";
import { CoreError } from "../../../core/error.ts";
import { Handover, type HandoverParts } from "../../../core/handover/handover.ts";
import type { ListeningSockets } from "../../../core/handover/listening_sockets.ts";
import { OwnPlaces } from "../../../core/handover/places.ts";
import { HealthBoard } from "../../../core/health.ts";

function handover({ sockets, start }: { sockets?: ListeningSockets; start?: HandoverParts["start"] } = {}) {
  const lines: string[] = [], health = new HealthBoard();
  health.hold = undefined;
  const places = new OwnPlaces({ ports: [], paths: [] }, () => sockets);
  const log = (level: string, message: string) => void lines.push(`${level} ${message}`);
  const made = new Handover({ places, health, log, predecessor: undefined, ...(start === undefined ? {} : { start }) });
  return { lines, health, made };
}

const noSockets: ListeningSockets = { list: () => [], share() {}, steer: () => false, keepToOurselves() {} };

const codeOf = (done: Promise<unknown>) => done.then(() => "none", (error) => error.code);

test("where the kernel cannot be asked a restart is refused, and the server goes on", async () => {
  const { made, lines } = handover();
  let replaced = false;
  void made.replaced.then(() => replaced = true);
  expect(await codeOf(made.restart())).toBe("RESTART_UNSUPPORTED");
  expect([made.passed, replaced]).toEqual([false, false]);
  expect(lines).toEqual([
    "info restarting: starting a server to take over",
    "error the restart failed; this server goes on",
  ]);
  // It may be tried again.
  expect(await codeOf(made.restart())).toBe("RESTART_UNSUPPORTED");
});

test("there is one restart at a time, and none of a server that stops", async () => {
  const { made } = handover();
  expect(await Promise.all([codeOf(made.restart()), codeOf(made.restart())])).toEqual([
    "RESTART_UNSUPPORTED",
    "RESTART_BUSY",
  ]);
  made.giveUp();
  expect(await codeOf(made.restart())).toBe("RESTART_BUSY");
});

test("a server that does not listen everywhere yet is not restarted", async () => {
  const { made, health } = handover();
  health.hold = "starting";
  const error = await made.restart().catch((cause) => cause);
  expect([error.code, error.message]).toEqual(["RESTART_BUSY", "This server is starting"]);
});

test("a successor that is wanted no more is ended, also one that was just being started", async () => {
  for (const early of [true, false]) {
    const begun = Promise.withResolvers<void>(), started = Promise.withResolvers<void>();
    const serving = Promise.withResolvers<number>();
    const told: string[] = [];
    const { made } = handover({
      sockets: noSockets,
      async start() {
        begun.resolve();
        if (early) await started.promise;
        return {
          serving: serving.promise,
          ended: Promise.resolve(),
          release: () => void told.push("release"),
          stop() {
            told.push("stop");
            serving.reject(new CoreError("HANDOVER_FAILED", "ended"));
          },
        };
      },
    });
    const code = codeOf(made.restart());
    await begun.promise;
    // The other one is there a moment later.
    if (!early) await new Promise((resolve) => setTimeout(resolve));
    made.giveUp();
    started.resolve();
    expect([await code, told, made.passed]).toEqual(["HANDOVER_FAILED", ["stop", "release"], false]);
  }
});

test("who leaves waits for what is under way, no longer than patience lasts", async () => {
  const { made } = handover();
  let looks = 0;
  await made.leave(() => 1, AbortSignal.abort());
  const patience = new AbortController();
  await made.leave(() => {
    if (++looks === 1) patience.abort();
    return 1;
  }, AbortSignal.any([patience.signal, AbortSignal.timeout(20)]));
  expect(looks).toBe(1);
});
