import { readFileSync } from "node:fs";
import type { Executions } from "../../core/contracts/executions.ts";
import type { Gate } from "../../core/contracts/gates.ts";
import type { Places } from "../../core/contracts/places.ts";
import type { DatabaseCaps } from "../../core/contracts/statement_caps.ts";
import { CoreError } from "../../core/error.ts";
import type { Log } from "../../core/plugin.ts";
import { Sha2Cache } from "./auth/server_dialogue.ts";
import { parseUsers } from "./auth/users.ts";
import type { Account } from "./backend/account.ts";
import { Backend } from "./backend/backend.ts";
import { kindFlags, kindOf } from "./backend/kind.ts";
import type { DatabaseSettings } from "./config.ts";
import { dedicatedHost } from "./dedicated.ts";
import { listen, type Listening, type ListenOptions } from "./net/listen.ts";
import type { ByteSocket, Place } from "./net/socket.ts";
import { tlsServerContext } from "./net/tls.ts";
import type { Clock } from "./pool/options.ts";
import { Recorder } from "./recorder.ts";
import { type FrontOptions, Refused, type Relayed } from "./session/entrance.ts";
import { welcome } from "./session/front.ts";
import { relayLogin } from "./session/relay_login.ts";
import type { Talk } from "./session/talk.ts";
import { giveToGroup } from "./socket_group.ts";
import type { DatabaseReport, PoolReport } from "./stats/report.ts";
import type { DbCounts } from "./stats/metrics.ts";
import { Upstream } from "./upstream.ts";
import { CAP } from "./wire/capabilities.ts";
import type { Login } from "./wire/packets.ts";
import { tooManyConnections } from "./wire/errors.ts";

/** What a proxy works with, besides its settings. */
export interface ProxyParts {
  readonly gate: Gate;
  readonly log: Log;
  readonly counts: DbCounts;
  readonly clock: Clock;
  readonly random: () => number;
  /** Tells which HTTP request asked for a slow statement, and how long a client may wait for a connection. */
  readonly executions?: Executions | undefined;
  /** Where its addresses are taken; when absent they must be free. */
  readonly places?: Places | undefined;
  /** Caps on its statements, if there are any. */
  readonly caps?: DatabaseCaps | undefined;
}

/** A client has this long (ms) to log in. */
const loginTimeout = 10_000;

/** A proxy in front of one database. */
export class MysqlProxy implements DatabaseReport {
  readonly name: string;
  readonly #settings: DatabaseSettings;
  readonly #places: Places | undefined;
  readonly #account: Account;
  readonly #upstream: Upstream;
  readonly #recorder: Recorder;
  readonly #front: FrontOptions;
  readonly #listening: Listening[] = [];
  readonly #arriving = new Set<ByteSocket>();
  #dedicated = 0;

  constructor(settings: DatabaseSettings, parts: ProxyParts) {
    this.name = settings.name;
    this.#settings = settings;
    this.#places = parts.places;
    this.#account = accountOf(settings);
    this.#recorder = new Recorder(settings, { ...parts, now: () => parts.clock.now() });
    this.#upstream = new Upstream({
      name: settings.name,
      account: this.#account,
      schema: settings.database,
      charset: settings.charset,
      gate: parts.gate,
      strategy: settings.resetStrategy,
      learn: settings.learn,
      minConnections: settings.minConnections,
      maxConnections: settings.maxConnections,
      poolTimeoutMs: settings.poolTimeout,
      idleTimeoutMs: settings.idleTimeout,
      maxLifetimeMs: settings.maxLifetime,
      clock: parts.clock,
      random: parts.random,
      events: this.#recorder,
      executions: parts.executions,
      caps: parts.caps,
    });
    const tls = settings.clientTls;
    const pem = (path: string) => readPem(path);
    this.#front = {
      host: this.#upstream,
      auth: settings.auth,
      users: parseUsers(settings.users),
      cache: new Sha2Cache(),
      tls: tls === undefined ? undefined : tlsServerContext({
        cert: pem(tls.cert),
        key: pem(tls.key),
        ...(tls.ca === undefined ? {} : { ca: pem(tls.ca) }),
      }),
      tlsRequired: tls?.mode === "required",
      timeoutMs: loginTimeout,
      meet: () => this.#upstream.reached ? undefined : this.#upstream.meet(),
      relay: settings.unknownUsers === "relay" ? (...login) => this.#relay(...login) : undefined,
      turnedAway: (client, error) =>
        parts.log("debug", "a database client was not let in", {
          db: settings.name,
          client: client.remoteAddress,
          error,
        }),
      authFailed: (plugin) => parts.counts.authFailed(plugin),
    };
  }

  get digests(): DatabaseReport["digests"] {
    return this.#recorder.digests;
  }

  /** Why the database cannot be used, or undefined. */
  problem(): string | undefined {
    return this.#upstream.reached ? undefined : this.#recorder.lastProblem ?? "not reached yet";
  }

  /** Binds its addresses. The database need not be up. */
  async listen(): Promise<readonly Place[]> {
    const { listen: tcp, socket } = this.#settings;
    const places: Place[] = [];
    if (tcp !== undefined) places.push(tcp);
    if (socket !== undefined) places.push({ kind: "unix", path: socket });
    const options: ListenOptions = {
      backlog: 4096,
      dress: (path) => giveToGroup(path, this.#settings.socketGroup),
      places: this.#places,
    };
    for (const place of places) {
      this.#listening.push(await listen(place, options, (client) => this.#accept(client)));
    }
    // Sessions that are open stay here, and their clients with what they have begun.
    this.#places?.onPassed(() => this.#stopListening());
    this.#upstream.meet().catch(() => {});
    return this.#listening.map((bound) => bound.place);
  }

  #accept(client: ByteSocket): void {
    this.#arriving.add(client);
    void welcome(client, this.#front).finally(() => this.#arriving.delete(client));
  }

  /** A connection of its own for a user whom only the server knows. There may be as many as pooled ones, beside them. */
  async #relay(talk: Talk, login: Login, nonce: Uint8Array): Promise<Relayed> {
    if (this.#dedicated >= this.#settings.maxConnections) throw new Refused(tooManyConnections());
    this.#dedicated++;
    try {
      const schema = (login.capabilities & CAP.CONNECT_WITH_DB) === 0 ? undefined : login.database;
      const flags = login.capabilities & (kindFlags | CAP.MULTI_STATEMENTS | CAP.CAN_HANDLE_EXPIRED_PASSWORDS);
      const logged = await relayLogin(talk, login, this.#account, { flags, charset: login.charset, schema }, nonce);
      const backend = new Backend(logged, {
        kind: kindOf(flags, schema),
        facts: this.#upstream.facts,
        state: {
          settings: this.#upstream.root(login.charset),
          dirty: "opaque",
          schema,
          multiStatements: (flags & CAP.MULTI_STATEMENTS) !== 0,
          used: true,
        },
        renewed: 0,
        owner: { onStray: () => {} },
      });
      // Whose password has expired may do nothing but set a new one.
      try {
        await backend.prepare([{ kind: "trackers" }], true);
      } catch (cause) {
        backend.close(false);
        throw cause;
      }
      return { host: dedicatedHost(this.#upstream, () => this.#dedicated--), backend };
    } catch (cause) {
      this.#dedicated--;
      throw cause;
    }
  }

  /** Accepts nobody any more; resolves when the last session has ended, or `deadline` aborts. */
  async drain(deadline: AbortSignal): Promise<void> {
    await this.#stopListening();
    if (deadline.aborted) return;
    const given = Promise.withResolvers<void>();
    deadline.addEventListener("abort", () => given.resolve(), { once: true });
    await Promise.race([this.#upstream.sessions.empty(), given.promise]);
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await this.#stopListening();
    for (const client of this.#arriving) client.destroy();
    this.#upstream.close();
    this.#recorder.close();
  }

  async #stopListening(): Promise<void> {
    await Promise.all(this.#listening.splice(0).map((bound) => bound.close()));
  }

  pool(): PoolReport {
    const stats = this.#upstream.stats();
    const clients = { idle: 0, active: 0, waiting: 0, connecting: this.#arriving.size };
    for (const session of this.#upstream.sessions) clients[session.state]++;
    const { server } = this.#settings;
    return {
      server: server.kind === "tcp" ? `${server.host}:${server.port}` : server.path,
      version: this.#upstream.version,
      up: this.#upstream.reached && !stats.breakerOpen,
      limit: stats.max,
      clients,
      backends: {
        idle: stats.idle,
        used: stats.used + stats.checking,
        resetting: stats.cleaning,
        connecting: stats.dialing,
      },
      oldestWaitMs: this.#upstream.oldestWaitMs,
    };
  }
}

function accountOf(settings: DatabaseSettings): Account {
  const { tls } = settings;
  const file = (path: string | undefined) => path === undefined ? undefined : readPem(path);
  return {
    place: settings.server,
    user: settings.user,
    password: settings.password,
    tls: { mode: tls.mode, ca: file(tls.ca), cert: file(tls.cert), key: file(tls.key), serverName: tls.serverName },
    timeoutMs: settings.connectTimeout,
  };
}

function readPem(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new CoreError("DB_TLS_INVALID", `Cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
}
