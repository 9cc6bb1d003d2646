import { expect, test } from "bun:test";
import type { ParentLinkEvents } from "../../../plugins/php/fork/link.ts";
import { ParentProcess } from "../../../plugins/php/fork/parent.ts";
import { waitFor } from "../../support/wait.ts";

/** A parent that ends at once; its connection is the test's. */
function ended() {
  const calls: string[] = [];
  let link!: ParentLinkEvents;
  let onHello = () => {};
  const parent = new ParentProcess({
    token: "t",
    process: { argv: ["/bin/sh", "-c", "exit 3"], env: {} },
    door: {
      path: "/nowhere",
      expect(_token, hello) {
        onHello = () =>
          hello({
            pid: 1,
            role: "parent",
            asParent(events) {
              link = events;
              return { write() {}, destroy: () => void calls.push("destroy") };
            },
            asChild: () => {
              throw new Error("expected a parent");
            },
          });
        return () => void calls.push("refuse");
      },
    },
  }, {
    onUp() {},
    onArrival() {},
    onEnded: ({ pid, code }) => void calls.push(`child ${pid} ended with ${code}`),
    onLog() {},
    onLine() {},
    onBroken: (error) => void calls.push(error.message),
    onGone: ({ code }) => void calls.push(`gone with ${code}`),
  });
  onHello();
  return { calls, link, parent };
}

test("what a parent says last of its children is heard, though its process is gone before it is read", async () => {
  const { calls, link } = ended();
  await waitFor(() => calls.includes("refuse"), { what: "the end of the process" });
  const payload = new Uint8Array(44);
  payload[32] = 7;
  payload[36] = 255;
  link.onFrame(10, payload);
  link.onClosed();
  expect(calls).toEqual(["refuse", "child 7 ended with 255", "destroy", "gone with 3"]);
});

test("a connection that something else keeps open is not waited for", async () => {
  const { calls, link } = ended();
  await waitFor(() => calls.includes("gone with 3"), { what: "the news" });
  link.onClosed();
  expect(calls).toEqual(["refuse", "destroy", "gone with 3"]);
});
