import { expect, test } from "bun:test";
import { bootError, lastSaid } from "../../../plugins/php/worker/report.ts";

const exit = (...lastWords: string[]) => ({ code: 255, signal: null, lastWords });

test("of an ended process its fatal error is told, not the trace behind it", () => {
  const words = exit(
    "connecting",
    "PHP Fatal error:  Uncaught RuntimeException: no database today in /app/boot.php:1",
    "Stack trace:",
    "#0 /app/worker.php(4): require()",
    "#1 {main}",
    "  thrown in /app/boot.php on line 1",
  );
  expect(lastSaid(words)).toBe("PHP Fatal error:  Uncaught RuntimeException: no database today in /app/boot.php:1");
  expect(bootError(words, undefined).message).toBe(
    "The PHP worker does not boot: exit code 255: " +
      "PHP Fatal error:  Uncaught RuntimeException: no database today in /app/boot.php:1",
  );
});

test("else its last three lines", () => {
  expect(lastSaid(exit("one", "two", "", "three", "four"))).toBe("two | three | four");
  expect(lastSaid(exit())).toBe("");
  expect(bootError(undefined, undefined).message).toBe("The PHP worker does not boot: no sign of its end");
});
