/**
 * The script in a real Redis under an injected clock, beside the model: each operation goes to both, and then everything is
 * compared.
 *
 * @module
 */
import { createClient, type RedisClientType } from "@redis/client";
import { expect } from "bun:test";
import { keysOf } from "../../../plugins/bulkhead/redis/keys.ts";
import {
  acquireArgs,
  acquireReply,
  adoptArgs,
  beatArgs,
  beatReply,
  flagsReply,
  leaveArgs,
  leaveReply,
  limitArgs,
  releaseArgs,
  tickArgs,
} from "../../../plugins/bulkhead/redis/operations.ts";
import { countsScript, mainScript } from "../../../plugins/bulkhead/redis/script.ts";
import { Model } from "./model.ts";

/** One step; numbers choose among what there is. */
export interface Step {
  readonly op:
    | "acquire"
    | "leave"
    | "release"
    | "beat"
    | "tick"
    | "limit"
    | "pass"
    | "adopt"
    | "flush"
    | "back"
    | "again";
  readonly pick: number;
  readonly weight: number;
  readonly lease: number;
  readonly wait: number;
  readonly flag: boolean;
}

type None = Record<never, never>;
type Client = RedisClientType<None, None, None, 3, None>;

/** A client for a test's own questions. */
export async function connectTo(url: string): Promise<Client> {
  return await createClient({ url, RESP: 3, disableClientInfo: true }).connect() as Client;
}

/** Ms without a beat after which the model's and the script's waiters are given up. */
const silence = 150;

export class Rig {
  readonly #client: Client;
  readonly #script: string;
  readonly #counts: string;
  readonly #keys: readonly string[];
  readonly #model: Model;
  readonly #heard: string[] = [];
  /** All that were ever asked for, with what they were told, so that stale ids are used too. */
  readonly #known: { id: string; weight: number; lease: number; fence: number; epoch: string }[] = [];
  #wall = 1_000_000;
  #ids = 0;
  #topFence = 0;

  private constructor(client: Client, name: string, script: string, counts: string) {
    this.#client = client;
    this.#keys = keysOf("t:", name);
    this.#model = new Model(name);
    this.#script = script;
    this.#counts = counts;
  }

  static async make(url: string): Promise<Rig & AsyncDisposable> {
    const client = await connectTo(url);
    const load = async (text: string) => String(await client.sendCommand(["SCRIPT", "LOAD", text]));
    const options = { prefix: "t:", injectClock: true };
    const name = `n${crypto.randomUUID().slice(0, 8)}`;
    const rig = new Rig(client, name, await load(mainScript(options)), await load(countsScript(options)));
    await client.pSubscribe("t:host:*", (text) => {
      if (text.startsWith(`${name} `)) rig.#heard.push(text);
    });
    return Object.assign(rig, { [Symbol.asyncDispose]: () => client.close() });
  }

  async step(step: Step): Promise<void> {
    const model = this.#model;
    const host = `h${step.pick % 2}`;
    if (step.op === "pass") return void (this.#wall += step.wait);
    // Clocks are set back, too: what was promised is kept then.
    if (step.op === "back") return void (this.#wall -= this.#model.epoch === "" ? 0 : step.wait * 3);
    if (step.op === "flush") {
      await this.#client.sendCommand(["UNLINK", ...this.#keys]);
      // A clock that goes back while the data is lost is more than fences can bear.
      this.#wall = Math.max(this.#wall, Math.ceil(this.#topFence / 1024) + 1);
      return model.forget();
    }
    model.at(this.#wall, host);
    if (step.op === "acquire" || step.op === "again") {
      const before = step.op === "again" ? this.#known.at(-1 - step.pick % 4) : undefined;
      const id = before?.id ?? `${host}.${this.#ids++}`;
      const ask = { id, weight: before?.weight ?? step.weight, lease: before?.lease ?? step.lease };
      const rest = { wait: step.wait, most: 4, limit: 3, declare: step.flag && step.pick === 0 };
      const expected = model.acquire({ ...ask, ...rest }, silence);
      const reply = acquireReply(
        await this.#run(acquireArgs(host, {
          id,
          weight: ask.weight,
          leaseMs: ask.lease,
          waitMs: rest.wait,
          maxQueue: rest.most,
          limit: rest.limit,
          declare: rest.declare,
          again: true,
          ticket: 0,
          silenceMs: silence,
          join: step.flag,
        })),
      );
      expect(`${reply.status} ${reply.value}`).toBe(expected);
      const fence = reply.status === "granted" ? reply.value : 0;
      if (fence > 0 && before === undefined) this.#rises(fence);
      this.#known.push({ id, weight: ask.weight, lease: ask.lease, fence, epoch: reply.epoch });
    } else if (step.op === "leave") {
      const id = this.#pick(step.pick);
      const expected = model.leave(id, step.flag);
      expect(leaveReply(await this.#run(leaveArgs(host, id, step.flag))).fence).toBe(expected);
    } else if (step.op === "release") {
      const ids = [...new Set([this.#pick(step.pick), this.#pick(step.pick + step.weight)])];
      const expected = model.release(ids);
      expect(flagsReply(await this.#run(releaseArgs(host, ids))).flags).toEqual(expected);
    } else if (step.op === "beat") {
      const ids = [...new Set([0, 1, 2, 3].map((i) => this.#pick(step.pick + i * step.weight)))];
      const expected = model.beat(ids, silence);
      const reply = beatReply(await this.#run(beatArgs(host, silence, step.flag, ids)));
      expect(ids.map((_, i) => reply.state(i))).toEqual(expected);
    } else if (step.op === "adopt") {
      const calls = this.#known.filter((one) => one.fence > 0).slice(-1 - step.pick % 3)
        .map(({ id, weight, lease, fence, epoch }) => ({ id, weight, leaseMs: lease, fence, epoch, force: step.flag }));
      const expected = model.adopt(calls, 3);
      expect(flagsReply(await this.#run(adoptArgs(host, 3, calls))).flags).toEqual(expected);
    } else if (step.op === "limit") {
      model.setLimit(step.weight + 1);
      await this.#run(limitArgs(host, step.weight + 1));
    } else {
      model.grant();
      await this.#run(tickArgs(host));
    }
    await this.#compare();
  }

  async #run(args: readonly string[]): Promise<unknown> {
    const rest = [String(this.#keys.length), ...this.#keys, ...args, String(this.#wall)];
    return await this.#client.sendCommand(["EVALSHA", this.#script, ...rest]);
  }

  #pick(n: number): string {
    return this.#known.at(-1 - n % Math.max(1, Math.min(this.#known.length, 12)))?.id ?? "h0.none";
  }

  #rises(fence: number): void {
    expect(fence).toBeGreaterThan(this.#topFence);
    this.#topFence = fence;
  }

  async #compare(): Promise<void> {
    const model = this.#model;
    const [m, h, q, d, w] = this.#keys as [string, string, string, string, string];
    const at = String(this.#wall);
    const [state, holders, waiters, ends, records, counts] = await Promise.all([
      this.#client.hGetAll(m),
      this.#client.zRangeWithScores(h, 0, -1),
      this.#client.zRangeWithScores(q, 0, -1),
      this.#client.zRangeWithScores(d, 0, -1),
      this.#client.hGetAll(w),
      this.#client.sendCommand(["EVALSHA", this.#counts, String(this.#keys.length), ...this.#keys, at]),
    ]);
    const sorted = <T>(list: readonly T[], key: (one: T) => string) =>
      [...list].sort((a, b) => key(a) < key(b) ? -1 : 1);
    expect(sorted(holders, (one) => one.value).map((one) => [one.value, one.score]))
      .toEqual(sorted(model.holders, (one) => one.id).map((one) => [one.id, one.ends]));
    expect(waiters.map((one) => [one.value, one.score])).toEqual(model.waiters.map((one) => [one.id, one.ticket]));
    expect(sorted(ends, (one) => one.value).map((one) => [one.value, one.score]))
      .toEqual(sorted(model.waiters, (one) => one.id).map((one) => [one.id, one.ends]));
    expect(Number(state["used"])).toBe(model.used);
    expect(Number(state["limit"])).toBe(model.limit);
    expect(Number(state["fence"])).toBe(model.fence);
    expect(state["epoch"]).toBe(model.epoch);
    expect(Object.keys(records).sort()).toEqual([...model.holders, ...model.waiters].map((one) => one.id).sort());
    for (const one of model.holders) expect(records[one.id]).toBe(`${one.weight} ${one.lease} ${one.fence} 0`);
    expect(this.#heard).toEqual(model.messages);
    for (const text of this.#heard.slice(-8)) this.#topFence = Math.max(this.#topFence, Number(text.split(" ")[2]));
    expect((counts as unknown as number[]).slice(0, 4)).toEqual([
      model.limit,
      model.used,
      model.holders.length,
      model.waiters.length,
    ]);
    // Nothing is to stay for ever.
    for (const key of [m, h, q, d, w]) expect(await this.#client.pTTL(key)).not.toBe(-1);
  }
}
