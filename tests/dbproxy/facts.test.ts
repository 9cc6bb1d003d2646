import { expect, test } from "bun:test";
import { greetingWith, readFacts } from "../../plugins/dbproxy/backend/facts.ts";
import type { Greeting } from "../../plugins/dbproxy/wire/packets.ts";

const rows = [
  ["5", "latin1_german1_ci", "latin1", ""],
  ["8", "latin1_swedish_ci", "latin1", "Yes"],
  ["33", "utf8mb3_general_ci", "utf8mb3", "Yes"],
  ["46", "utf8mb4_bin", "utf8mb4", ""],
  ["2304", "utf8mb4_uca1400_ai_ci", "utf8mb4", "Yes"],
  ["2305", "ucs2_uca1400_ai_ci", "ucs2", "Yes"],
];
const facts = readFacts({ version: "11.8.1-MariaDB", charset: 45 } as Greeting, [{ rows }]);

test("clients are greeted with the default collation of a charset, or one of it that fits a byte", () => {
  const ids = ["latin1", "utf8", "utf8mb4", "ucs2", "nope"].map((name) => greetingWith(facts, name).greeting.charset);
  expect(ids).toEqual([8, 33, 46, 45, 45]);
});
