import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hear, say, type Word } from "../../../core/handover/channel.ts";
import { Predecessor, variable } from "../../../core/handover/predecessor.ts";
import { CoreError } from "../../../core/error.ts";
import { waitFor } from "../../support/wait.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-channel-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A server that waits for its successor. */
async function waiting(name: string, onSocket: (socket: Socket) => void) {
  const path = join(folder, name);
  const server = createServer(onSocket);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { env: { [variable]: path, OTHER: "1" } as Record<string, string | undefined>, close: () => server.close() };
}

const welcome = { ports: [8080], paths: ["/run/x.sock"], unready: ["db"] };

test("without a server to replace there is nobody to meet", async () => {
  expect(await Predecessor.meet({ OTHER: "1" })).toBe(undefined);
});

test("a successor learns what is held, says one thing, and hears that the other has left", async () => {
  const words: Word[] = [];
  let caller: Socket | undefined;
  const { env, close } = await waiting("a", (socket) => {
    caller = socket;
    hear<Word>(socket, (word) => words.push(word));
    // In pieces, as it may come.
    const text = `${JSON.stringify(welcome)}\n`;
    socket.write(text.slice(0, 7));
    setTimeout(() => socket.write(text.slice(7)), 5);
  });
  const predecessor = (await Predecessor.meet(env))!;
  expect([predecessor.held, env]).toEqual([welcome, { OTHER: "1" }]);
  let left = false;
  void predecessor.left.then(() => left = true);
  predecessor.serving();
  await predecessor.failed(new Error("too late"));
  await waitFor(() => words.length > 0, { what: "a word" });
  expect([words, left]).toEqual([[{ serving: process.pid }], false]);
  caller!.end();
  await predecessor.left;
  close();
});

test("a successor that fails says why, and waits until the other has taken back what it shared", async () => {
  const words: Word[] = [];
  const { env, close } = await waiting("b", (socket) => {
    say(socket, welcome);
    hear<Word>(socket, (word) => {
      words.push(word);
      socket.end();
    });
  });
  const predecessor = (await Predecessor.meet(env))!;
  await predecessor.failed(new CoreError("PHP_START", "Cannot start"));
  expect(words).toEqual([{ failed: "Cannot start [PHP_START]" }]);
  await predecessor.left;
  close();
});

test("a server that is gone, or speaks otherwise, is lost", async () => {
  const gone = await Predecessor.meet({ [variable]: join(folder, "none") }).catch((error) => error);
  expect(gone.code).toBe("HANDOVER_LOST");
  const { env, close } = await waiting("c", (socket) => void socket.end("{]\n"));
  expect((await Predecessor.meet(env).catch((error) => error)).code).toBe("HANDOVER_LOST");
  close();
});
