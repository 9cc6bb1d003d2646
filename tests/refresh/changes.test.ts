import { describe, expect, test } from "bun:test";
import { Changes } from "../../plugins/refresh/changes.ts";
import { Audience } from "../../plugins/refresh/audience.ts";
import { VirtualClock } from "../admission/virtual_clock.ts";

describe("changes", () => {
  test("who was there at some time learns all that came later, and nothing twice", () => {
    const changes = new Changes("s");
    const before = changes.at;
    const css = changes.add({ kind: "css", paths: ["/a\nb.css"] });
    expect(css).toBe('id: s.1\nevent: css\ndata: ["/a\\nb.css"]\n\n');
    const between = changes.at;
    const failed = changes.add({ kind: "failed", text: "why" });
    expect(changes.since(before)).toBe(css + failed);
    expect(changes.since(between)).toBe(failed);
    expect(changes.since(changes.at)).toBe("");
  });

  test("who comes from another start, from too long ago or from nowhere loads the page again", () => {
    const changes = new Changes("s", 2);
    for (let i = 0; i < 3; i++) changes.add({ kind: "css", paths: [] });
    for (const at of ["r.3", "s.0", "s.4", "s.-1", "s.x", "s", "", "s.1e0"]) {
      expect([at, changes.since(at)]).toEqual([at, 'id: s.3\nevent: reload\ndata: ""\n\n']);
    }
    expect(changes.since("s.1")).toContain("id: s.2\nevent: css");
  });
});

describe("the audience", () => {
  const readAll = async (stream: ReadableStream<Uint8Array>) => await new Response(stream).text();

  test("hears what is told, signs of life between, and the end", async () => {
    const clock = new VirtualClock();
    const audience = new Audience(2, clock);
    const heard = readAll(audience.join("first\n\n", () => {})!);
    expect(clock.live).toBe(1);
    audience.tell("second\n\n");
    clock.advance(3000);
    audience.close();
    expect(await heard).toBe(":\n\nfirst\n\nsecond\n\n:\n\n");
    expect([audience.size, clock.live, audience.join("", () => {})]).toEqual([0, 0, undefined]);
  });

  test("is bounded; who leaves makes room, whoever says so, and no timer is left for nobody", async () => {
    const clock = new VirtualClock();
    const audience = new Audience(2, clock);
    let leave = () => {};
    const first = audience.join("", (left) => leave = left)!;
    const second = audience.join("", () => {})!;
    expect(audience.join("", () => {})).toBeUndefined();
    leave();
    leave();
    await second.cancel();
    expect(await readAll(first)).toBe(":\n\n");
    expect(audience.size).toBe(0);
    clock.advance(3000);
    expect(clock.live).toBe(0);
    expect(audience.join("", () => {})).toBeDefined();
  });

  test("lets go who does not read", () => {
    const clock = new VirtualClock();
    const audience = new Audience(2, clock);
    audience.join("", () => {});
    clock.advance(60_000);
    expect(audience.size).toBe(1);
    clock.advance(10_000);
    expect([audience.size, clock.live]).toEqual([0, 0]);
  });
});
