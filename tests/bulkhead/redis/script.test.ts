import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import process from "node:process";
import * as fc from "fast-check";
import { allowSlowTests } from "../../support/wait.ts";
import { Rig, type Step } from "./rig.ts";
import { RedisServer, serverAbsent, type ServerKind } from "./server.ts";

allowSlowTests(60_000);

const steps = fc.array(
  fc.record({
    op: fc.constantFrom<Step["op"]>(
      ..."acquire acquire acquire acquire leave release release beat tick pass pass limit again".split(
        " ",
      ) as Step["op"][],
      ..."adopt flush back".split(" ") as Step["op"][],
    ),
    pick: fc.nat(11),
    weight: fc.constantFrom(1, 1, 2, 3),
    lease: fc.constantFrom(20, 50, 200),
    wait: fc.constantFrom(0, 10, 60, 300),
    flag: fc.boolean(),
  }),
  { minLength: 1, maxLength: 60, size: "max" },
);

for (const kind of ["redis", "valkey"] satisfies ServerKind[]) {
  const absent = serverAbsent(kind);
  describe(`the script in ${kind}`, () => {
    let server: RedisServer | undefined;
    beforeAll(async () => {
      if (absent === undefined) server = await RedisServer.start(kind);
    });
    afterAll(() => server?.stop());

    test(`does what the model does${absent ? ` (skipped: ${absent})` : ""}`, async () => {
      if (server === undefined) return expect(absent).toBeDefined();
      const { url } = server;
      await fc.assert(
        fc.asyncProperty(steps, async (list) => {
          await using rig = await Rig.make(url);
          for (const step of list) await rig.step(step);
        }),
        {
          numRuns: Number(process.env["FAIRLEAD_RUNS"] ?? 60),
          ...(process.env["TEST_SEED"] === undefined ? {} : { seed: Number(process.env["TEST_SEED"]) }),
        },
      );
    });
  });
}
