import { expect, test } from "bun:test";
import { forEachServer } from "../../support/db_matrix.ts";
import { php } from "../../support/php_client.ts";

// One connection for all: whatever one session leaves, the next one meets.
forEachServer("one session after another", { proxy: { size: 1 } }, (way) => {
  const run = (body: string) => php(way.place, body, { ini: { "mysqli.allow_local_infile": "1" } });

  test("a client that switches multi-statements on leaves them off for the next", async () => {
    await run(`$m = my(); $m->query("SELECT 1"); $m->multi_query("SELECT 1; SELECT 2");
      while ($m->more_results()) { $m->store_result(); $m->next_result(); }`);
    expect(await run(`$m = my(); $m->query("SELECT 1"); return thrown(fn () => $m->query("SELECT 1; SELECT 2"))[0];`))
      .toBe(1064);
  });

  test("a role that is taken after something else is not the next client's", async () => {
    await way.database.admin("CREATE ROLE IF NOT EXISTS strong");
    const [at] = (await run(`return [one(my(), "SELECT CURRENT_USER()")];`)) as string[];
    const user = `'${at!.split("@")[0]}'@'${at!.split("@")[1]}'`;
    await way.database.admin(`GRANT strong TO ${user}`);
    await run(`$m = my(); $m->query("CREATE TEMPORARY TABLE x(a INT)"); $m->query("INSERT INTO x VALUES (1)");
      $m->query("SET ROLE strong");`);
    expect([null, "NONE"]).toContain(await run(`return one(my(), "SELECT CURRENT_ROLE()");`) as string | null);
  });

  test("settings whose texts are not ASCII are told apart", async () => {
    const zone = (text: string) =>
      run(
        `$m = my(); $m->query("${text}"); return [one($m, "SELECT @@time_zone"), one($m, "SELECT @@sql_select_limit")];`,
      );
    for (let i = 0; i < 2; i++) {
      expect(((await zone("SET time_zone='+02:00' /* für Berlin */")) as string[])[0]).toBe("+02:00");
      expect(((await zone("SET sql_select_limit=17 /* größer */")) as string[])[1]).toBe("17");
    }
  });

  test("a file behind another result arrives", async () => {
    expect(
      await run(`$file = tempnam(sys_get_temp_dir(), 'f'); file_put_contents($file, str_repeat("7\\n", 5000));
      $m = my(options: [MYSQLI_OPT_LOCAL_INFILE => 1]);
      $m->query("CREATE TEMPORARY TABLE files(a INT)");
      $m->multi_query("SELECT 1; LOAD DATA LOCAL INFILE '$file' INTO TABLE files");
      do { $result = $m->store_result(); } while ($m->more_results() && $m->next_result());
      unlink($file);
      return one($m, "SELECT COUNT(*) FROM files");`),
    ).toBe("5000");
  });

  test("the schema is there again after a session has dropped its own", async () => {
    await run(`$m = my(); $m->query("CREATE DATABASE IF NOT EXISTS brief"); $m->query("USE brief");
      $m->query("DROP DATABASE brief");`);
    expect(await run(`return one(my(), "SELECT DATABASE()");`)).toBe("test");
  });

  test("the warnings of one are not shown to the next", async () => {
    await run(`$m = my(); $m->query("SELECT CAST('secret' AS SIGNED)");`);
    expect(await run(`$m = my(); $m->query("SELECT 1"); return $m->query("SHOW WARNINGS")->fetch_all();`)).toEqual([]);
  });
});
