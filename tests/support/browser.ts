/**
 * A real browser, spoken to by the protocol of its developer tools.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor, within } from "./wait.ts";

/** Chromium, where one is installed. */
export const chromium: string | undefined = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
  .find((path) => existsSync(path));

export interface Page {
  /** What an expression of the page's gives, promises included; it must be JSON. */
  evaluate(expression: string): Promise<unknown>;
  goto(url: string): Promise<void>;
}

export interface Browser {
  open(url: string): Promise<Page>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts Chromium without a window. */
export async function startBrowser(): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "fairlead-browser-"));
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
  const child = spawn(chromium!, [...args, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => said += text);
  const found = await waitFor(() => /DevTools listening on (ws:\S+)/.exec(said)?.[1], {
    what: "the browser",
    timeout: 30_000,
  });
  const tools = await connect(found);
  return {
    async open(url) {
      const { targetId } = await tools.call("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await tools.call("Target.attachToTarget", { targetId, flatten: true });
      const call = (method: string, params: object) => tools.call(method, params, String(sessionId));
      const page: Page = {
        async evaluate(expression) {
          const params = { expression, awaitPromise: true, returnByValue: true };
          const { result, exceptionDetails } = await call("Runtime.evaluate", params) as {
            result: { value: unknown };
            exceptionDetails?: { text: string };
          };
          if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
          return result.value;
        },
        goto: async (url) => void await call("Page.navigate", { url }),
      };
      await page.goto(url);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await Promise.race([tools.call("Browser.close", {}), ended]);
      await within(10_000, "the browser's end", ended);
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

type Answer = Record<string, unknown>;

interface Tools {
  call(method: string, params: object, sessionId?: string): Promise<Answer>;
}

async function connect(url: string): Promise<Tools> {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error(`Cannot reach the browser at ${url}`));
  });
  const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  socket.onmessage = ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as { id?: number; result: Answer; error?: Answer };
    const who = waiting.get(id ?? 0);
    waiting.delete(id ?? 0);
    if (error === undefined) who?.resolve(result);
    else who?.reject(new Error(String(error["message"])));
  };
  let count = 0;
  return {
    call: (method, params, sessionId) =>
      new Promise((resolve, reject) => {
        waiting.set(++count, { resolve, reject });
        socket.send(JSON.stringify({ id: count, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      }),
  };
}
