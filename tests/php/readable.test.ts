import { expect, test } from "bun:test";
import { closedTo } from "../../plugins/php/readable.ts";
import { userIds } from "../../plugins/php/runtime_dir.ts";

test("names the first folder that the user may not pass, by the class that fits him", () => {
  const modes: Record<string, { mode: number; uid: number; gid: number }> = {
    "/": { mode: 0o755, uid: 0, gid: 0 },
    "/root": { mode: 0o700, uid: 0, gid: 0 },
    "/root/site": { mode: 0o755, uid: 0, gid: 0 },
    "/srv": { mode: 0o711, uid: 0, gid: 0 },
    "/srv/team": { mode: 0o750, uid: 0, gid: 33 },
    "/srv/mine": { mode: 0o077, uid: 33, gid: 0 },
  };
  const www = { uid: 33, gid: 33 };
  const at = (path: string) => closedTo(www, path, (folder) => modes[folder]!);
  expect([at("/root/site"), at("/srv"), at("/srv/team"), at("/srv/mine")]).toEqual([
    "/root",
    undefined,
    undefined,
    "/srv/mine",
  ]);
});

test("users have numbers, or are not there", () => {
  const passwd = "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:34:www:/var/www:/usr/sbin/nologin\n";
  expect([userIds("www-data", passwd), userIds("www", passwd)]).toEqual([{ uid: 33, gid: 34 }, undefined]);
});
