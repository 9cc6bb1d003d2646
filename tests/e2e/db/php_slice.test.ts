/**
 * A slice of PHP's own tests of mysqli and PDO: through the proxy each has the outcome it has directly. `scripts/php_db_suites.mjs`
 * runs all of them.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { forEachServer, servers } from "../../support/db_matrix.ts";
import { runSuite, type SuiteResult, suiteUsers } from "../../support/php_db_suites.ts";
import { type PhpSource, phpSource } from "../../support/php_source.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(300_000);

/** What each one is about stands in its name; they cover every command, every way to end a session and every kind of result. */
const slice = [
  "mysqli/bug34810.phpt",
  "mysqli/bug36745.phpt",
  "mysqli/bug51605.phpt",
  "mysqli/bug70384.phpt",
  "mysqli/mysqli_autocommit.phpt",
  "mysqli/mysqli_begin_transaction.phpt",
  "mysqli/mysqli_change_user.phpt",
  "mysqli/mysqli_change_user_get_lock.phpt",
  "mysqli/mysqli_change_user_insert_id.phpt",
  "mysqli/mysqli_change_user_locks_temporary.phpt",
  "mysqli/mysqli_change_user_prepared_statements.phpt",
  "mysqli/mysqli_change_user_rollback.phpt",
  "mysqli/mysqli_change_user_set_names.phpt",
  "mysqli/mysqli_character_set_name.phpt",
  "mysqli/mysqli_fetch_field_flags.phpt",
  "mysqli/mysqli_get_warnings.phpt",
  "mysqli/mysqli_insert_id.phpt",
  "mysqli/mysqli_insert_id_variation.phpt",
  "mysqli/mysqli_kill.phpt",
  "mysqli/mysqli_multi_query.phpt",
  "mysqli/mysqli_options_init_command.phpt",
  "mysqli/mysqli_pconn_reuse.phpt",
  "mysqli/mysqli_ping.phpt",
  "mysqli/mysqli_poll.phpt",
  "mysqli/mysqli_select_db.phpt",
  "mysqli/mysqli_set_charset.phpt",
  "mysqli/mysqli_stat.phpt",
  "mysqli/mysqli_stmt_attr_set.phpt",
  "mysqli/mysqli_stmt_execute_stored_proc.phpt",
  "mysqli/mysqli_stmt_get_result_metadata.phpt",
  "mysqli/mysqli_stmt_send_long_data.phpt",
  "mysqli/mysqli_thread_id.phpt",
  "mysqli/mysqli_use_result.phpt",
  "pdo/bug_44861.phpt",
  "pdo/pdo_017.phpt",
  "pdo_mysql/last_insert_id.phpt",
  "pdo_mysql/native_types.phpt",
  "pdo_mysql/pdo_mysql_attr_init_command.phpt",
  "pdo_mysql/pdo_mysql_connect_charset.phpt",
  "pdo_mysql/pdo_mysql_exec_load_data.phpt",
  "pdo_mysql/pdo_mysql_inTransaction.phpt",
  "pdo_mysql/pdo_mysql_multi_stmt_nextrowset.phpt",
  "pdo_mysql/pdo_mysql_pconnect.phpt",
  "pdo_mysql/pdo_mysql_prepare_native.phpt",
  "pdo_mysql/pdo_mysql_stmt_rowcount.phpt",
  "pdo_mysql/unsigned_bigint.phpt",
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
        expect(outcomes.filter(([, outcome]) => outcome === "PASSED").length).toBeGreaterThan(slice.length - 10);
      });
    }
  });
}
