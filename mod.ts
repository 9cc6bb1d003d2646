/**
 * Fairlead: what a plugin author and a library user need. The command line is `cli/fairlead.ts`; it runs also when this is the main
 * module.
 *
 * @module
 */
export { CoreError } from "./core/error.ts";
export type { Endpoint, Exchange, Outcome } from "./core/exchange.ts";
export {
  type AnyPlugin,
  type Awaitable,
  type Context,
  definePlugin,
  type Execution,
  type HookName,
  type Hooks,
  type Log,
  type Ordered,
  type Permit,
  type Plugin,
  type PluginHooks,
  type PublicEnv,
  type ServiceOf,
  type Token,
  token,
} from "./core/plugin.ts";
export {
  type BulkheadDenialReason,
  type BulkheadOptions,
  type BulkheadPermit,
  Bulkheads,
  type BulkheadWait,
  type KeyedBulkheadOptions,
} from "./core/contracts/bulkheads.ts";
export { ClosedPaths } from "./core/contracts/closed_paths.ts";
export { Exposition } from "./core/contracts/exposition.ts";
export { Executions, type RunningExecution } from "./core/contracts/executions.ts";
export {
  type Criticality,
  type Gate,
  Gates,
  type GateTerms,
  type Refusal,
  type Waiter,
} from "./core/contracts/gates.ts";
export { Health, type Readiness } from "./core/contracts/health.ts";
export { type Counter, type Family, type Histogram, Meter, noMeter, type Sample } from "./core/contracts/meter.ts";
export { Places, type Stoppable, type Taken } from "./core/contracts/places.ts";
export { type ReloadResult, Reloads } from "./core/contracts/reloads.ts";
export { type ScriptAddition, ScriptSettings, type ScriptValues } from "./core/contracts/script_settings.ts";
export { Site, type VirtualHost } from "./core/contracts/site.ts";
export {
  type CappedStatement,
  type DatabaseCaps,
  type SessionCaps,
  type StatementAnswer,
  type StatementCap,
  StatementCaps,
  type StatementPermit,
  type StatementRefusal,
  type StatementWait,
} from "./core/contracts/statement_caps.ts";
export type { Clock } from "./core/clock.ts";
export type { StandardSchema } from "./core/standard_schema.ts";
export { Predecessor } from "./core/handover/predecessor.ts";
export { type Address, showAddress } from "./core/http/address.ts";
export { type RunningServer, type ServerOptions, startServer } from "./core/server.ts";
export type { AdminSettings, LogSettings, ServerSettings } from "./core/settings.ts";
export type { App } from "./core/app.ts";
export type { Tls } from "./core/http/tls.ts";
export type { ProxyHeader } from "./core/http/proxies.ts";
export { builtin } from "./cli/builtin.ts";
export { configure, type ConfigureOptions, prepare, type Prepared } from "./cli/prepare.ts";
export { createBulkheads, type CreateBulkheadsOptions, type OwnBulkheads } from "./cli/bulkheads.ts";
export {
  createMysqlProxy,
  type MysqlProxyOptions,
  type MysqlProxyTable,
  type RunningMysqlProxy,
} from "./cli/mysql_proxy.ts";
export type { DigestOrder, DigestRow, DigestTable } from "./plugins/dbproxy/stats/digests.ts";
export type { PoolReport } from "./plugins/dbproxy/stats/report.ts";
export type { Place as MysqlProxyPlace } from "./plugins/dbproxy/net/socket.ts";
export { acquire, type AcquireOptions, type GatePermit } from "./plugins/admission/acquire.ts";
export type { AdmissionOptions, AdmissionRules, Refused } from "./plugins/admission/admission_options.ts";
export { admit, type FetchHandler } from "./plugins/admission/admit.ts";
export { fairAdmission } from "./plugins/admission/fair_admission.ts";
export { ClassedGate } from "./plugins/admission/classed_gate.ts";
export { createGate } from "./plugins/admission/create_gate.ts";
export { FairGate, type WaiterView } from "./plugins/admission/fair_gate.ts";
export type { Fair, GateOptions, LineOptions, Order } from "./plugins/admission/gate_options.ts";
export type { Counts as GateCounts } from "./plugins/admission/counts.ts";
export { Bulkhead, type StoreBulkheadOptions } from "./plugins/bulkhead/bulkhead.ts";
export { BulkheadDenied } from "./plugins/bulkhead/errors.ts";
export { KeyedBulkhead, type StoreKeyedBulkheadOptions } from "./plugins/bulkhead/keyed_bulkhead.ts";
export type { Terms as BulkheadTerms } from "./plugins/bulkhead/limits.ts";
export type {
  BulkheadAnswer,
  BulkheadAsk,
  BulkheadCounts,
  BulkheadDenial,
  BulkheadEvents,
  BulkheadGrant,
  BulkheadStore,
} from "./plugins/bulkhead/store.ts";
export type { CacheRule } from "./plugins/static/cache_rules.ts";
export type { HeaderReader } from "./plugins/static/conditions.ts";
export { type FileRequest, type FileSettings, StaticFiles } from "./plugins/static/files.ts";

if (import.meta.main) await import("./cli/fairlead.ts");
