import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchFolders, type WatchFoldersOptions } from "../../../core/watch/watch_folders.ts";
import { watchRules } from "../../../core/watch/watch_patterns.ts";
import { waitFor } from "../../support/wait.ts";
import { VirtualClock } from "../../admission/virtual_clock.ts";
import { FakeFs } from "./fake_fs.ts";

/** A watch over a file system and a clock of the test's. */
function world(options: Partial<WatchFoldersOptions>, prepare: (fs: FakeFs) => void = () => {}) {
  const fs = new FakeFs();
  fs.mkdir("/app");
  prepare(fs);
  const clock = new VirtualClock();
  const bursts: (readonly string[])[] = [];
  const notices: string[] = [];
  const watch = watchFolders({
    root: "/",
    patterns: ["app/**/*.php"],
    fs,
    clock,
    onChange: (paths) => bursts.push(paths),
    onNotice: (text) => notices.push(text),
    ...options,
  });
  return { fs, clock, bursts, notices, watch };
}

describe("watchRules", () => {
  const asked = (patterns: readonly string[], root = "/srv") => watchRules(root, patterns);

  test("match what patterns say, relative to the root", () => {
    const { matches, roots } = asked(["app/**/*.{php,twig}", ".env", "config/*.yaml", "/etc/x/**"]);
    expect([...roots].sort()).toEqual(["/etc/x", "/srv", "/srv/.env", "/srv/app", "/srv/config"]);
    const yes = ["/srv/app/a.php", "/srv/app/b/c/d.twig", "/srv/.env", "/srv/config/a.yaml", "/etc/x/y/z"];
    const no = ["/srv/a.php", "/srv/app/a.js", "/srv/application/a.php", "/srv/config/b/a.yaml", "/srv/env", "/etc/xy"];
    for (const path of yes) expect([path, matches(path)]).toEqual([path, true]);
    for (const path of no) expect([path, matches(path)]).toEqual([path, false]);
  });

  test("enter folders only as deep as files may match", () => {
    const { enters } = asked(["config/*.yaml", "src/*/x.php", "app/**/y.php"]);
    expect(["/srv/config/a", "/srv/src/a/b", "/srv/other"].map(enters)).toEqual([false, false, false]);
    expect(["/srv/config", "/srv/src/a", "/srv/app/a/b/c"].map(enters)).toEqual([true, true, true]);
  });

  test("leave impolite folders out unless they are named, wherever the root lies", () => {
    const all = asked(["**/*.php"], "/var/www/storage");
    expect(all.matches("/var/www/storage/a/b.php")).toBe(true);
    for (const name of ["node_modules", "vendor", ".git", "var", "storage"]) {
      expect([all.enters(`/var/www/storage/a/${name}`), all.matches(`/var/www/storage/a/${name}/b.php`)]).toEqual([
        false,
        false,
      ]);
    }
    const named = asked(["vendor/acme/**", "**/storage/*.php", "var"]);
    expect(["/srv/vendor/acme/src", "/srv/a/storage", "/srv/var/x"].map(named.enters)).toEqual([true, true, true]);
    const more = watchRules("/srv", ["**", "cache/keep/**"], ["cache"]);
    expect(["/srv/a/cache", "/srv/cache/other", "/srv/cache/keep/a"].map(more.enters)).toEqual([false, false, true]);
    expect(named.enters("/srv/vendor/acme/vendor")).toBe(false);
  });
});

describe("watchFolders", () => {
  test("tells a burst once, when it is over", () => {
    const { fs, clock, bursts, watch } = world({}, (fs) => fs.write("/app/a.php"));
    for (let i = 0; i < 4; i++) {
      fs.write("/app/a.php");
      fs.write(`/app/sub/${i}.php`);
      clock.advance(149);
      expect(bursts).toEqual([]);
    }
    clock.advance(1);
    expect(bursts).toEqual([["/app/a.php", ...[0, 1, 2, 3].map((i) => `/app/sub/${i}.php`)]]);
    fs.remove("/app/sub");
    clock.advance(150);
    expect(bursts[1]).toEqual([0, 1, 2, 3].map((i) => `/app/sub/${i}.php`));
    expect([watch.mode, watch.files, [...fs.watched.keys()]]).toEqual(["native", 1, ["/app"]]);
    watch.close();
    expect([fs.watched.size, clock.live]).toEqual([0, 0]);
  });

  test("tells a burst that does not end after 1.5 s", () => {
    const { fs, clock, bursts } = world({});
    for (let i = 0; i < 16; i++) {
      fs.write("/app/a.php");
      clock.advance(100);
    }
    expect(bursts).toEqual([["/app/a.php"]]);
  });

  test("tells nothing of what is not asked for, nor of what is as it was", () => {
    const { fs, clock, bursts } = world({ patterns: ["**/*.php"] }, (fs) => fs.write("/app/vendor/a/b.php"));
    fs.write("/app/app.log");
    fs.write("/app/vendor/a/b.php");
    fs.write("/app/temp.php");
    fs.remove("/app/temp.php");
    clock.advance(20_000);
    expect(bursts).toEqual([]);
    expect([...fs.watched.keys()].sort()).toEqual(["/", "/app"]);
  });

  test("sees a folder that is put in place of another, and links, but no circle of them", () => {
    for (const poll of [false, true]) {
      const { fs, clock, bursts, watch } = world({ poll }, (fs) => {
        fs.write("/app/x/a.php");
        fs.write("/new/a.php");
        fs.write("/lib/deep/l.php");
        fs.link("/app/lib", "/lib");
        fs.link("/app/x/up", "/app");
        fs.link("/lib/deep/round", "/lib");
      });
      expect(watch.files).toBe(2);
      fs.write("/lib/deep/l.php");
      // The fake file system tells the path that was used.
      fs.watched.get("/app/lib/deep")?.onEvent("l.php");
      clock.advance(700);
      fs.move("/app/x", "/old");
      fs.move("/new", "/app/x");
      clock.advance(700);
      expect(bursts).toEqual([["/app/lib/deep/l.php"], ["/app/x/a.php"]]);
      if (!poll) expect([...fs.watched.keys()].sort()).toEqual(["/app", "/app/lib", "/app/lib/deep", "/app/x"]);
    }
  });

  test("sees a root that comes, goes and comes again", () => {
    for (const poll of [false, true]) {
      const { fs, clock, bursts } = world({ patterns: ["app/later/src/**"], poll });
      fs.write("/app/later/src/a.php");
      clock.advance(2000);
      fs.remove("/app/later");
      // As the system tells it of the folder itself.
      fs.watched.get("/app/later/src")?.onEvent("src");
      clock.advance(2000);
      fs.write("/app/later/src/b.php");
      clock.advance(2000);
      expect(bursts).toEqual([["/app/later/src/a.php"], ["/app/later/src/a.php"], ["/app/later/src/b.php"]]);
    }
  });

  test("goes over to looking when the system does not watch", () => {
    const { fs, clock, bursts, notices, watch } = world({}, (fs) => {
      fs.room = 1;
      fs.write("/app/a/b.php");
    });
    expect([watch.mode, fs.watched.size, notices.length]).toEqual(["poll", 0, 1]);
    expect(notices[0]).toBe("Looking for changes every 500 ms: the system does not watch /app/a: ENOSPC");
    fs.write("/app/a/b.php");
    clock.advance(650);
    expect(bursts).toEqual([["/app/a/b.php"]]);
    expect(clock.live).toBe(1);

    const later = world({});
    later.fs.watched.get("/app")!.onError(new Error("EIO"));
    expect([later.watch.mode, later.clock.live]).toEqual(["poll", 1]);
  });

  test("finds what the system does not tell, and goes over to looking", () => {
    const { fs, clock, bursts, notices, watch } = world({}, (fs) => fs.write("/app/a.php"));
    // One event lost, others come: no reason to look from now on.
    fs.tells = false;
    fs.write("/app/a.php");
    fs.tells = true;
    clock.advance(4900);
    fs.write("/app/other.txt");
    clock.advance(300);
    expect([bursts, watch.mode]).toEqual([[["/app/a.php"]], "native"]);
    fs.tells = false;
    fs.write("/app/a.php");
    clock.advance(6000);
    expect([bursts.length, watch.mode]).toEqual([2, "poll"]);
    expect(notices).toEqual(["Looking for changes every 500 ms: files change without the system telling"]);
    fs.write("/app/a.php");
    clock.advance(700);
    expect(bursts.length).toBe(3);
  });

  test("looks at no more files than it may, and says so", () => {
    const { fs, notices, watch } = world({ maxFiles: 10 }, (fs) => {
      for (let i = 0; i < 20; i++) fs.write(`/app/${i}.php`);
    });
    expect([watch.files, fs.stats < 50]).toEqual([10, true]);
    expect(notices).toEqual(["Watching 10 files and no more; name fewer folders in the patterns"]);
  });

  test("tells exactly what differs, whatever happens", () => {
    const path = fc.constantFrom("a.php", "b.php", "x/a.php", "x/y/a.php", "z/a.php", "n.txt").map((name) =>
      `/app/${name}`
    );
    const folder = fc.constantFrom("/app/x", "/app/x/y", "/app/z", "/app/w");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("write" as const), path }),
      fc.record({ kind: fc.constant("remove" as const), path: fc.oneof(path, folder) }),
      fc.record({ kind: fc.constant("move" as const), path: folder, to: folder }),
    );
    const exists = (fs: FakeFs, path: string) => fs.list(path) !== undefined || fs.stat(path) !== undefined;
    fc.assert(
      fc.property(fc.boolean(), fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 6 }), (poll, rounds) => {
        const { fs, clock, bursts, watch } = world({ poll });
        const state = () => new Map(filesOf(fs, "/app").map((path) => [path, fs.stat(path)!.stamp]));
        for (const steps of rounds) {
          const before = state();
          for (const step of steps) {
            if (step.kind === "write") fs.write(step.path);
            else if (step.kind === "remove" && exists(fs, step.path)) fs.remove(step.path);
            else if (
              step.kind === "move" && exists(fs, step.path) && !exists(fs, step.to) && !step.to.startsWith(step.path)
            ) {
              fs.move(step.path, step.to);
            }
          }
          bursts.length = 0;
          clock.advance(1000);
          const after = state();
          const differ = [...new Set([...before.keys(), ...after.keys()])].filter((path) =>
            before.get(path) !== after.get(path)
          );
          expect(bursts.length).toBeLessThanOrEqual(1);
          // A folder in place of another is told whole, so more may be told; never less, and nothing where all is as it was.
          const told = bursts.flat();
          for (const path of differ) expect(told).toContain(path);
          expect(watch.files).toBe(after.size);
        }
        expect(watch.mode).toBe(poll ? "poll" : "native");
        watch.close();
        expect([fs.watched.size, clock.live]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });

  test("works on a real disk, told or looking", async () => {
    for (const poll of [false, true]) {
      const root = mkdtempSync(join(tmpdir(), "fairlead-watch-"));
      mkdirSync(join(root, "app", "sub"), { recursive: true });
      writeFileSync(join(root, "app", "sub", "a.php"), "1");
      const told = new Set<string>();
      const watch = watchFolders({
        root,
        patterns: ["app/**/*.php", ".env"],
        poll,
        pollMs: 20,
        debounceMs: 20,
        onChange: (paths) => paths.forEach((path) => told.add(path.slice(root.length + 1))),
      });
      try {
        const sees = async (name: string, change: () => void) => {
          told.clear();
          change();
          await waitFor(() => told.has(name), { what: `${name} to be told` });
        };
        expect(watch.files).toBe(1);
        await sees("app/sub/a.php", () => writeFileSync(join(root, "app", "sub", "a.php"), "22"));
        await sees("app/sub/a.php", () => {
          writeFileSync(join(root, "app", "sub", "a.tmp"), "333");
          renameSync(join(root, "app", "sub", "a.tmp"), join(root, "app", "sub", "a.php"));
        });
        await sees(".env", () => writeFileSync(join(root, ".env"), "A=1"));
        await sees("app/new/deep/b.php", () => {
          mkdirSync(join(root, "app", "new", "deep"), { recursive: true });
          writeFileSync(join(root, "app", "new", "deep", "b.php"), "1");
        });
        await sees("app/new/deep/b.php", () => writeFileSync(join(root, "app", "new", "deep", "b.php"), "22"));
        await sees("app/new/deep/b.php", () => rmSync(join(root, "app", "new"), { recursive: true }));
        expect(watch.mode).toBe(poll ? "poll" : "native");
      } finally {
        watch.close();
        rmSync(root, { recursive: true });
      }
    }
  });
});

function filesOf(fs: FakeFs, folder: string): string[] {
  return (fs.list(folder) ?? []).flatMap(({ name, kind }) => {
    const path = `${folder}/${name}`;
    return kind === "folder" ? filesOf(fs, path) : path.endsWith(".php") ? [path] : [];
  });
}
