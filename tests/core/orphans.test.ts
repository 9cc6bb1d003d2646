import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import process from "node:process";
import { orphanCollector, type Zombie, zombiesOf } from "../../core/orphans.ts";
import { waitFor } from "../support/wait.ts";

test("a zombie is collected at the second look that sees it, and not when its pid has another owner", () => {
  let zombies: readonly Zombie[] = [];
  const collected: number[] = [];
  const look = orphanCollector(() => zombies, (pid) => void collected.push(pid));
  zombies = [{ pid: 5, born: "1" }];
  look();
  zombies = [{ pid: 5, born: "2" }, { pid: 6, born: "3" }];
  look();
  expect(collected).toEqual([]);
  look();
  expect(collected).toEqual([5, 6]);
});

test("zombies are told by their parent", async () => {
  // A shell that starts a process and becomes one that waits for nobody.
  const parent = spawn("sh", ["-c", "true & exec sleep 30"], { stdio: "ignore" });
  try {
    const zombie = await waitFor(() => zombiesOf(parent.pid!)[0], { what: "a zombie" });
    expect(zombie.pid).toBeGreaterThan(0);
    expect(zombie.born).toMatch(/^\d+$/);
    expect(zombiesOf(process.pid).map(({ pid }) => pid)).not.toContain(zombie.pid);
  } finally {
    parent.kill("SIGKILL");
  }
});
