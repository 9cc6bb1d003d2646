/** The plugin as a server would have it. */
import { Hono } from "hono";
import { Bulkheads } from "../../core/contracts/bulkheads.ts";
import { Gates } from "../../core/contracts/gates.ts";
import { Meter } from "../../core/contracts/meter.ts";
import { StatementCaps } from "../../core/contracts/statement_caps.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Hooks, Permit, Token } from "../../core/plugin.ts";
import { bulkhead } from "../../plugins/bulkhead/plugin.ts";
import type { VirtualClock } from "../admission/virtual_clock.ts";
import { FakeMeter } from "../admission/fake_meter.ts";
import { type ExchangeInit, TestExchange } from "../support/exchange.ts";
import { testMemory } from "./memory.ts";

/** What the plugin logged. */
export interface Logged {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The plugin, and what a test does to it. */
export interface Started {
  readonly logged: readonly Logged[];
  readonly clock: VirtualClock;
  readonly meter: FakeMeter;
  readonly admin: Hono;
  readonly bulkheads: Bulkheads;
  readonly statements: StatementCaps;
  readonly hooks: {
    readonly onAdmit?: { readonly order: string; readonly handler: Admit };
    readonly onListen: { readonly handler: () => Promise<void> };
    readonly onAdmin: Hooks["onAdmin"];
    readonly onDrain: Hooks["onDrain"];
    readonly onClose: { readonly handler: Hooks["onClose"] };
  };
  advance(ms: number): Promise<void>;
  admit(x: TestExchange): ReturnType<Admit>;
  /** What the admin listener shows; `query` as in `?name=a`. */
  look(query?: string): Promise<{ readonly store: string; readonly bulkheads: unknown[] }>;
}

type Admit = (x: Exchange) => Awaitable<Permit | Response | void>;

/** Sets the plugin up with a `[bulkhead]` table, on a virtual clock; `others` are the services of other plugins. */
export async function start(
  table: unknown,
  others: readonly (readonly [token: Token<unknown>, service: unknown])[] = [],
): Promise<Started> {
  const logged: Logged[] = [];
  const { clock, gates, advance } = testMemory();
  const plugin = bulkhead(clock);
  const parsed = await plugin.config["~standard"].validate(table);
  if (parsed.issues !== undefined) {
    throw new Error(parsed.issues.map(({ message }: { message: string }) => message).join("; "));
  }
  const meter = new FakeMeter();
  const services = new Map<string, unknown>([[Meter.id, meter], [Gates.id, gates]]);
  for (const [token, service] of others) services.set(token.id, service);
  const hooks = await plugin.setup({
    name: "bulkhead",
    config: parsed.value,
    baseDir: "/",
    log: (level: string, message: string, fields = {}) => void logged.push({ level, message, fields }),
    use: (token: Token<unknown>) => services.get(token.id),
    find: (token: Token<unknown>) => services.get(token.id),
    provide: (token: Token<unknown>, service: unknown) => void services.set(token.id, service),
  } as never) as unknown as Started["hooks"];
  const admit = (x: TestExchange) => hooks.onAdmit!.handler(x);
  const admin = new Hono();
  hooks.onAdmin(admin);
  const look = async (query = "") =>
    await (await admin.request(`/-/bulkheads${query}`)).json() as {
      readonly store: string;
      readonly bulkheads: unknown[];
    };
  return {
    logged,
    clock,
    advance,
    meter,
    hooks,
    admit,
    admin,
    look,
    bulkheads: services.get(Bulkheads.id) as Bulkheads,
    statements: services.get(StatementCaps.id) as StatementCaps,
  };
}

/** An exchange whose deadline is on the virtual clock. */
export function exchange(target: string, init: ExchangeInit = {}): TestExchange {
  const x = new TestExchange(target, init);
  x.deadline = Infinity;
  return x;
}
