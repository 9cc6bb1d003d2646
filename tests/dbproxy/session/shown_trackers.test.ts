import { expect, test } from "bun:test";
import { usualTrackers } from "../../../plugins/dbproxy/session/shown_trackers.ts";

const state = (letters: string) => {
  const data = new TextEncoder().encode(letters);
  return Uint8Array.of(5, data.length + 1, data.length, ...data);
};
const shown = (server: "mysql" | "mariadb", ...states: string[]) => {
  const shows = usualTrackers(server);
  return states.map((letters) => shows(5, state(letters)));
};

test("MySQL tells of a transaction that was begun or ended in so many words, and of nothing in it", () => {
  const course = ["T_______", "T_R_S___", "TWR_S___", "________", "I_R_S___", "________", "T_______"];
  expect(shown("mysql", ...course)).toEqual([true, false, false, true, false, false, true]);
  expect(shown("mariadb", ...course)).toEqual(course.map(() => false));
});

test("of the rest a client hears what each server reports by itself", () => {
  for (const server of ["mysql", "mariadb"] as const) {
    const shows = usualTrackers(server);
    expect([0, 1, 2, 3, 4, 6].map((type) => shows(type, Uint8Array.of(type, 0)))).toEqual(
      [true, true, false, false, false, false],
    );
  }
});
