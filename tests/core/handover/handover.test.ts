import { expect, test } from "bun:test";
import { Handover } from "../../../core/handover/handover.ts";
import { OwnPlaces } from "../../../core/handover/places.ts";
import { HealthBoard } from "../../../core/health.ts";

function handover() {
  const lines: string[] = [];
  const places = new OwnPlaces({ ports: [], paths: [] }, () => undefined);
  const log = (level: string, message: string) => void lines.push(`${level} ${message}`);
  return { lines, made: new Handover({ places, health: new HealthBoard(), log, predecessor: undefined }) };
}

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
