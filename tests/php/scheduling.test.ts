import { expect, test } from "bun:test";
import process from "node:process";
import type { Scheduling } from "../../plugins/php/scheduling.ts";
import { startProcess } from "../../plugins/php/worker/process.ts";
import { childrenOf, commandOf, policyOf } from "../support/proc.ts";
import { waitFor } from "../support/wait.ts";

/** The policies of a process and of one that it starts. */
async function policies(scheduling: Scheduling | undefined): Promise<(number | undefined)[]> {
  let over = false;
  const started = await startProcess({
    argv: ["/bin/sh", "-c", "sleep 0.1; sleep 60; true"],
    env: { PATH: process.env["PATH"] ?? "" },
    scheduling,
    onLine() {},
    onExit: () => over = true,
  });
  try {
    const child = await waitFor(() => childrenOf(started.pid).find((pid) => commandOf(pid).includes("60")), {
      what: "a child",
    });
    return [policyOf(started.pid), policyOf(child)];
  } finally {
    started.kill();
    await waitFor(() => over, { what: "its end" });
  }
}

const linux = process.platform === "linux" ? test : test.skip;

linux("batch: neither a process nor what it starts pushes aside who runs", async () => {
  expect(await policies("batch")).toEqual([3, 3]);
});

linux("normal, or nothing said: as the kernel has it", async () => {
  expect([await policies("normal"), await policies(undefined)]).toEqual([[0, 0], [0, 0]]);
});
