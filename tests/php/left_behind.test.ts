import { afterAll, describe, expect, test } from "bun:test";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { claim, type FolderOwner, isGone, ourselves, ownerOf } from "../../core/folder_owner.ts";
import { findPhpFpm } from "../../plugins/php/find.ts";
import { spoolFolders } from "../../plugins/php/left_over.ts";
import { type LeftBehind, makePrivateFolder, removeStaleFolders } from "../../plugins/php/private_folder.ts";
import { fpmFolders, isRoot } from "../../plugins/php/runtime_dir.ts";
import { alive, childrenOf } from "../support/proc.ts";
import { waitFor, within } from "../support/wait.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-left-"));
const started: ChildProcess[] = [];
const php = execFileSync("sh", ["-c", "command -v php"], { encoding: "utf8" }).trim();
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(dir, { recursive: true });
});

/** A process of PHP, of its own group, that names a file, as php-fpm does its configuration. */
function start(
  words: readonly string[],
  env: Record<string, string> = {},
  [program, ...first]: readonly [string, ...string[]] = [php, "-n", "-r", "sleep(60);", "--"],
): { child: ChildProcess; ended: Promise<string> } {
  const child = spawn(program, [...first, ...words], { detached: true, stdio: "ignore", env });
  started.push(child);
  return { child, ended: new Promise((done) => child.once("exit", (_code, signal) => done(String(signal)))) };
}

async function deadPid(): Promise<number> {
  const { child, ended } = start([]);
  child.kill("SIGKILL");
  await ended;
  return child.pid!;
}

function folder(owner: Partial<FolderOwner>): string {
  const { path } = makePrivateFolder(fpmFolders, false, dir);
  claim(path, { ...ourselves()!, ...owner });
  return path;
}

async function clear(): Promise<readonly LeftBehind[]> {
  const all: LeftBehind[] = [];
  await removeStaleFolders(fpmFolders, dir, Date.now(), (left) => all.push(left));
  return all;
}

describe("the owner of a private folder", () => {
  test("is noted when it is made, and is there", () => {
    const { path, remove } = makePrivateFolder(fpmFolders, false, dir);
    expect(ownerOf(path)).toEqual(ourselves()!);
    expect(isGone(ourselves()!)).toBe(false);
    remove();
  });

  test("is gone when its process is, when another has its pid, and when the process runs another program", async () => {
    const us = ourselves()!;
    expect(isGone({ ...us, pid: await deadPid() })).toBe(true);
    expect(isGone({ ...us, started: "1" })).toBe(true);
    expect(isGone({ ...us, program: "another" })).toBe(true);
    expect(isGone({ ...us, program: undefined })).toBe(false);
    expect(isGone({ ...us, pid: await deadPid(), space: "pid:[1]" })).toBe(undefined);
  });
});

describe("what is left of a server that is gone", () => {
  test("is ended and removed at once", async () => {
    const path = folder({ pid: await deadPid() });
    const { child, ended } = start([`${path}/fpm.conf`]);
    expect(await clear()).toMatchObject([{ path, ended: [child.pid!] }]);
    expect(await within(5000, "its end", ended)).toBe("SIGKILL");
    expect(existsSync(path)).toBe(false);
  });

  test("is ended also where only children of its php-fpm are left, with a socket that nobody finds any more", async () => {
    const { path: binary } = await findPhpFpm();
    const fpm = async (folder: string) => {
      const config = join(folder, "fpm.conf"), socket = join(folder, "fpm.sock");
      const user = isRoot() ? "user=nobody\n" : "";
      const pool = `[www]\nlisten=${socket}\n${user}pm=static\npm.max_children=2\n`;
      writeFileSync(config, `[global]\nerror_log=/dev/null\n${pool}`);
      const master = start(["-n", "-F", "-O", "-y", config], {}, [binary]);
      const children = await waitFor(() => {
        const all = childrenOf(master.child.pid!);
        return existsSync(socket) && all.length === 2 ? all : undefined;
      }, { what: "php-fpm to be up" });
      master.child.kill("SIGKILL");
      await master.ended;
      return children;
    };
    const path = folder({ pid: await deadPid() }), living = folder({});
    const [left, others] = [await fpm(path), await fpm(living)];
    try {
      rmSync(join(path, "fpm.sock"));
      const [found] = await clear();
      expect([found?.path, found?.ended.toSorted()]).toEqual([path, left.toSorted()]);
      expect(left.filter(alive)).toEqual([]);
      expect(others.filter(alive)).toEqual(others);
    } finally {
      for (const pid of [...left, ...others]) if (alive(pid)) process.kill(pid, "SIGKILL");
    }
  });

  test("is ended also when this very process was that server, with the children of what it started", async () => {
    const path = folder({ program: "the one before" });
    const { child, ended } = start([], { PATH: process.env["PATH"] ?? "", FAIRLEAD_PHP: `${path}/php` });
    const [left] = await clear();
    expect(left?.ended).toContain(child.pid!);
    expect(await within(5000, "its end", ended)).toBe("SIGKILL");
    expect(existsSync(path)).toBe(false);
  });

  test("is nothing that a living server uses, nor one of another container, nor what an application has started", async () => {
    const ours = folder({});
    const theirs = folder({ pid: await deadPid(), space: "pid:[1]" });
    const dead = folder({ pid: await deadPid() });
    const living = [
      start([`${ours}/fpm.conf`]),
      start([`${theirs}/fpm.conf`]),
      // Who only looks at it.
      start([dead]),
      start([`${dead}/fpm.conf`], {}, ["/bin/sh", "-c", "sleep 60; true", "sh"]),
      start([], { FAIRLEAD_PHP: `${dead}/php` }),
    ];
    expect(await clear()).toMatchObject([{ path: dead, ended: [] }]);
    expect([ours, theirs, dead].map(existsSync)).toEqual([true, true, false]);
    for (const { child } of living) expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  });

  test("stays, without a socket to tell, where its owner cannot be seen", async () => {
    const { path } = makePrivateFolder(spoolFolders, false, dir);
    claim(path, { ...ourselves()!, pid: await deadPid(), space: "pid:[1]" });
    await removeStaleFolders(spoolFolders, dir, Date.now() + 120_000);
    expect(existsSync(path)).toBe(true);
    claim(path, { ...ourselves()!, pid: await deadPid() });
    await removeStaleFolders(spoolFolders, dir);
    expect(existsSync(path)).toBe(false);
  });
});
