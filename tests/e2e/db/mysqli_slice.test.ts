/**
 * A slice of PHP's own tests of mysqli: through the proxy each has the outcome it has directly. `scripts/mysqli_suite.mjs`
 * runs all of them.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { forEachServer, servers } from "../../support/db_matrix.ts";
import { runSuite, type SuiteResult, suiteUsers } from "../../support/mysqli_suite.ts";
import { type PhpSource, phpSource } from "../../support/php_source.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(300_000);

/** What each one is about stands in its name; they cover every command, every way to end a session and every kind of result. */
const slice = [
  "bug34810.phpt",
  "bug36745.phpt",
  "bug51605.phpt",
  "bug70384.phpt",
  "mysqli_autocommit.phpt",
  "mysqli_begin_transaction.phpt",
  "mysqli_change_user.phpt",
  "mysqli_change_user_get_lock.phpt",
  "mysqli_change_user_insert_id.phpt",
  "mysqli_change_user_locks_temporary.phpt",
  "mysqli_change_user_prepared_statements.phpt",
  "mysqli_change_user_rollback.phpt",
  "mysqli_change_user_set_names.phpt",
  "mysqli_character_set_name.phpt",
  "mysqli_fetch_field_flags.phpt",
  "mysqli_get_warnings.phpt",
  "mysqli_insert_id.phpt",
  "mysqli_insert_id_variation.phpt",
  "mysqli_kill.phpt",
  "mysqli_multi_query.phpt",
  "mysqli_options_init_command.phpt",
  "mysqli_pconn_reuse.phpt",
  "mysqli_ping.phpt",
  "mysqli_poll.phpt",
  "mysqli_select_db.phpt",
  "mysqli_set_charset.phpt",
  "mysqli_stat.phpt",
  "mysqli_stmt_attr_set.phpt",
  "mysqli_stmt_execute_stored_proc.phpt",
  "mysqli_stmt_get_result_metadata.phpt",
  "mysqli_stmt_send_long_data.phpt",
  "mysqli_thread_id.phpt",
  "mysqli_use_result.phpt",
];

let source: PhpSource | undefined;
let absent = "";
try {
  source = phpSource();
} catch (error) {
  absent = (error as Error).message;
}

if (!source) test.skip(`PHP's own tests: ${absent}`, () => {});
else {
  const found = source;
  forEachServer("PHP's own tests", { proxy: { size: 10, settings: suiteUsers }, strategies: ["smart"] }, (way) => {
    const run = (place: typeof way.place): Promise<SuiteResult> =>
      runSuite({ source: found, place, schema: "test", tests: slice });

    if (way.proxied) {
      test("have the outcome they have directly", async () => {
        // Some of them are about all of the server: directly, it is one of its own.
        await using another = await servers.find(({ kind }) => kind === way.kind)!.start();
        const [direct, proxied] = await Promise.all([run(another), run(way.place)]);
        const unlike = [...proxied.outcomes].filter(([name, outcome]) => outcome !== direct.outcomes.get(name));
        expect(unlike.map(([name, outcome]) => `${name}: ${outcome}\n${proxied.diffs.get(name) ?? ""}`)).toEqual([]);
      });
    } else {
      test("run, and most of them pass", async () => {
        const outcomes = [...(await run(way.place)).outcomes];
        expect(outcomes.filter(([, outcome]) => outcome === "MISSING")).toEqual([]);
        expect(outcomes.filter(([, outcome]) => outcome === "PASSED").length).toBeGreaterThan(slice.length - 6);
      });
    }
  });
}
