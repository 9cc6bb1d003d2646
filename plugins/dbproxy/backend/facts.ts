import type { Collected } from "../reply/collector.ts";
import type { Greeting } from "../wire/packets.ts";

/** A collation as the server counts it. */
export interface Collation {
  readonly name: string;
  readonly charset: string;
  /** Of its charset. */
  readonly default: boolean;
}

/** What the proxy knows of a server: enough to greet a client for it, and to bring a connection back to its beginning. */
export interface ServerFacts {
  readonly greeting: Greeting;
  readonly server: "mysql" | "mariadb";
  /** 80036 or 101119. */
  readonly version: number;
  readonly collations: ReadonlyMap<number, Collation>;
  /** The SET that switches the trackers on. */
  readonly trackers: string;
  /** Session variables whose changes the server reports, lower case. */
  readonly reported: ReadonlySet<string>;
  /** Global values a new session starts with. */
  readonly sqlMode: string;
  readonly charset: string;
  /** Run by the server for each new connection, and not again by COM_RESET_CONNECTION. */
  readonly initConnect: string;
  /** Whether the account may switch roles, which no tracker of MySQL reports and no reset undoes. */
  readonly roles: boolean;
}

/**
 * Variables whose new values the server is asked to report. One that is missing here still raises the state-change bit, so the
 * list decides what can be learned and nothing else.
 */
const reported = [
  "autocommit",
  "auto_increment_increment",
  "auto_increment_offset",
  "character_set_client",
  "character_set_connection",
  "character_set_results",
  "collation_connection",
  "default_storage_engine",
  "foreign_key_checks",
  "group_concat_max_len",
  "innodb_lock_wait_timeout",
  "lc_time_names",
  "lock_wait_timeout",
  "max_execution_time",
  "max_statement_time",
  "net_read_timeout",
  "net_write_timeout",
  "optimizer_switch",
  "sql_auto_is_null",
  "sql_big_selects",
  "sql_mode",
  "sql_notes",
  "sql_quote_show_create",
  "sql_safe_updates",
  "sql_select_limit",
  "sql_warnings",
  "time_zone",
  "transaction_isolation",
  "transaction_read_only",
  "tx_isolation",
  "tx_read_only",
  "unique_checks",
  "wait_timeout",
];

const rolesQuery = "SELECT 1 FROM information_schema.APPLICABLE_ROLES LIMIT 1";

/** Asked of a server once: what a new session is like. */
export const factQueries: readonly string[] = [
  "SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME, IS_DEFAULT FROM information_schema.COLLATIONS WHERE ID IS NOT NULL",
  `SHOW SESSION VARIABLES WHERE Variable_name IN (${
    [...reported, "init_connect", "character_set_server"].map((n) => `'${n}'`).join(",")
  })`,
  rolesQuery,
];

/** More views than these (of any length, their names fit the collector) are not remembered. */
const mostViews = 5000;
/** How long (ms) the server may look for views. */
const viewsTimeout = 500;

/** Asked from time to time: what changes while a server runs. A view may call what its reader cannot see. */
export function currentQueries(server: ServerFacts["server"]): readonly string[] {
  const views = "TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN " +
    `('sys','mysql','information_schema','performance_schema') LIMIT ${mostViews + 1}`;
  return [
    "SELECT @@GLOBAL.sql_mode,@@GLOBAL.init_connect,@@GLOBAL.character_set_server",
    rolesQuery,
    server === "mysql"
      ? `SELECT /*+ MAX_EXECUTION_TIME(${viewsTimeout}) */ ${views}`
      : `SET STATEMENT max_statement_time=${viewsTimeout / 1000} FOR SELECT ${views}`,
  ];
}

/**
 * What the answers to {@linkcode currentQueries} say: the facts as they are now (the same object when nothing changed), and
 * the names of views in lower case, undefined when the server did not tell them all.
 */
export function readCurrent(
  facts: ServerFacts,
  answers: readonly Collected[],
): { readonly facts: ServerFacts; readonly views: ReadonlySet<string> | undefined } {
  const [globals, roles, views] = answers;
  const [sqlMode, initConnect, charset] = globals?.rows?.[0] ?? [facts.sqlMode, facts.initConnect, facts.charset];
  const now = {
    sqlMode: sqlMode ?? "",
    initConnect: initConnect ?? "",
    charset: charset ?? "",
    roles: mayHaveRoles(roles),
  };
  const same = now.sqlMode === facts.sqlMode && now.initConnect === facts.initConnect &&
    now.charset === facts.charset && now.roles === facts.roles;
  const names = views?.rows;
  return {
    facts: same ? facts : { ...facts, ...now },
    views: names === undefined || names.length > mostViews
      ? undefined
      : new Set(names.map(([name]) => (name ?? "").toLowerCase())),
  };
}

/** An answer that is an error leaves it open: then there may be some. */
function mayHaveRoles(answer: Collected | undefined): boolean {
  return answer === undefined || answer.err !== undefined || (answer.rows?.length ?? 0) > 0;
}

/** Makes the facts of the answers to {@linkcode factQueries}. */
export function readFacts(greeting: Greeting, answers: readonly Collected[]): ServerFacts {
  const [collations, variables, roles] = answers;
  const values = new Map((variables?.rows ?? []).map(([name, value]) => [name ?? "", value ?? ""]));
  const names = reported.filter((name) => values.has(name));
  const { server, version } = serverOf(greeting.version);
  return {
    greeting,
    server,
    version,
    collations: new Map(
      (collations?.rows ?? []).map(([id, name, charset, isDefault]) => [
        Number(id),
        { name: name ?? "", charset: charset ?? "", default: isDefault === "Yes" },
      ]),
    ),
    trackers: `session_track_system_variables='${names.join(",")}',session_track_schema=ON,` +
      "session_track_state_change=ON,session_track_transaction_info='STATE'",
    reported: new Set(names),
    sqlMode: values.get("sql_mode") ?? "",
    charset: values.get("character_set_server") ?? "",
    initConnect: values.get("init_connect") ?? "",
    roles: mayHaveRoles(roles),
  };
}

/**
 * The facts of a server that greets with this charset, so that clients that name none have it. As they are where the server
 * does not know it.
 */
export function greetingWith(facts: ServerFacts, charset: string): ServerFacts {
  const names = charset === "utf8" ? [charset, "utf8mb3"] : [charset];
  // A greeting has one byte for the collation.
  const fit = [...facts.collations].filter(([id, of]) => id <= 0xff && names.includes(of.charset));
  const [id] = fit.find(([, of]) => of.default) ?? fit[0] ?? [];
  return id === undefined ? facts : { ...facts, greeting: { ...facts.greeting, charset: id } };
}

/** The kind of server and its version as one number: 80036 for 8.0.36, 101119 for 10.11.19. */
export function serverOf(text: string): { readonly server: "mysql" | "mariadb"; readonly version: number } {
  const mariadb = /mariadb/i.test(text);
  const [, major = "0", minor = "0", patch = "0"] = /^(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)/.exec(text) ?? [];
  return {
    server: mariadb ? "mariadb" : "mysql",
    version: Number(major) * 10_000 + Number(minor) * 100 + Number(patch),
  };
}
