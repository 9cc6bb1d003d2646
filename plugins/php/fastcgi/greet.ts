import { CoreError } from "../../../core/error.ts";
import type { Connection } from "./connection.ts";
import { HeadParser } from "./head.ts";

/**
 * Makes a greeting: a request for a script that prints its process id and nothing else (`<?php echo getmypid();`). As a
 * keep-alive connection owns its child, the answer names the child for as long as the connection lives, and proves that
 * it runs scripts.
 *
 * @returns a function that resolves to the pid, and rejects with a `CoreError`: what the request failed with, or
 * `PHP_GREETING` (502) when the answer is not a pid.
 */
export function greeting(params: readonly Uint8Array[]): (connection: Connection) => Promise<number> {
  return (connection) =>
    new Promise((resolve, reject) => {
      const parser = new HeadParser({ maxBytes: 16_384 });
      let text = "";
      let complaint = "";
      const add = (bytes: Uint8Array) => {
        if (text.length < 500) text += String.fromCharCode(...bytes.subarray(0, 500));
      };
      connection.send({ params }, {
        onStdout(bytes) {
          const body = parser.head === undefined ? parser.push(bytes) : bytes;
          if (body !== undefined) add(body);
        },
        onStderr(bytes) {
          if (complaint.length < 500) complaint += String.fromCharCode(...bytes.subarray(0, 500));
        },
        onEnd() {
          const pid = Number(text);
          if (parser.head?.status === 200 && Number.isSafeInteger(pid) && pid > 1) return resolve(pid);
          const found = complaint.trim() || text.trim() || `status ${parser.head?.status ?? "none"}`;
          const message = `Expected PHP to answer a greeting with its process id, found ${JSON.stringify(found)}`;
          reject(new CoreError("PHP_GREETING", message, { status: 502 }));
        },
        onFail: reject,
      });
    });
}
