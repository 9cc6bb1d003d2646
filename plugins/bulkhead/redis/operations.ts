/**
 * What the scripts take and answer, as types: the only place that knows the order of arguments.
 *
 * @module
 */

/** How long (ms) a host that is heard of no more counts as using a bulkhead. */
export const memberMs = 30_000;

export interface AcquireCall {
  readonly id: string;
  readonly weight: number;
  readonly leaseMs: number;
  /** 0: now or never; Infinity: no end. */
  readonly waitMs: number;
  readonly maxQueue: number;
  readonly limit: number;
  /** Whether `limit` shall count from now on, or only where there is none yet. */
  readonly declare: boolean;
  /** Whether the id may be known already: an answer was lost. */
  readonly again: boolean;
  /** The place in line before Redis lost its data; 0 for none. */
  readonly ticket: number;
  /** After so many ms without a beat the waiter is given up. */
  readonly silenceMs: number;
  /** Whether to be counted among the hosts. */
  readonly join: boolean;
}

export function acquireArgs(host: string, call: AcquireCall): string[] {
  return [
    "acquire",
    host,
    call.id,
    String(call.weight),
    whole(call.leaseMs),
    whole(call.waitMs),
    whole(call.maxQueue),
    String(call.limit),
    flag(call.declare),
    flag(call.again),
    String(call.ticket),
    whole(call.silenceMs),
    call.join ? String(memberMs) : "0",
  ];
}

/** Ends waits: `keep` when permits that were granted meanwhile are still welcome. */
export function leaveArgs(host: string, id: string, keep: boolean): string[] {
  return ["leave", host, id, flag(keep)];
}

export function releaseArgs(host: string, ids: readonly string[]): string[] {
  return ["release", host, ...ids];
}

export function beatArgs(host: string, silenceMs: number, join: boolean, ids: readonly string[]): string[] {
  return ["beat", host, whole(silenceMs), join ? String(memberMs) : "0", ...ids];
}

export function tickArgs(host: string): string[] {
  return ["tick", host];
}

export interface AdoptCall {
  readonly id: string;
  readonly weight: number;
  readonly leaseMs: number;
  readonly fence: number;
  /** The epoch the permits were granted in: where it still lasts, they are not claimed again. */
  readonly epoch: string;
  /** Counted even where there is no room: its work runs anyway. */
  readonly force: boolean;
}

export function adoptArgs(host: string, limit: number, calls: readonly AdoptCall[]): string[] {
  const groups = calls.map((call) => [
    call.id,
    String(call.weight),
    whole(call.leaseMs),
    String(call.fence),
    call.epoch,
    flag(call.force),
  ]);
  return ["adopt", host, String(limit), ...groups.flat()];
}

export function limitArgs(host: string, limit: number): string[] {
  return ["limit", host, String(limit)];
}

/** Answers to `acquire`, by status. */
export const acquired = ["full", "granted", "queued", "queue_full", "weight"] as const;

export interface AcquireReply {
  readonly status: (typeof acquired)[number];
  /** The fence, the ticket, or the limit that the weight is above. */
  readonly value: number;
  /** Waiters before it. */
  readonly behind: number;
  /** Ms until a lease ends, where that is of use; -1 when not. */
  readonly nextMs: number;
  /** Changes when Redis has lost the bulkhead. */
  readonly epoch: string;
  /** Hosts that use it, this one included; 0 when it was not asked. */
  readonly members: number;
}

export function acquireReply(reply: unknown): AcquireReply {
  const [status, value, behind, nextMs, epoch, members] = reply as [number, string, number, number, string, number];
  return { status: acquired[status]!, value: Number(value), behind: Number(behind), nextMs, epoch, members };
}

/** `fence` when permits had been granted and were kept; -1 when not. */
export function leaveReply(reply: unknown): { readonly fence: number; readonly epoch: string } {
  const [status, value, epoch] = reply as [number, string, string];
  return { fence: status === 2 ? Number(value) : -1, epoch };
}

/** Of each id in the order asked: whether it was there. */
export function flagsReply(reply: unknown): { readonly epoch: string; readonly flags: readonly boolean[] } {
  const [epoch, ...flags] = reply as [string, ...number[]];
  return { epoch, flags: flags.map((one) => one === 1) };
}

export interface BeatReply {
  readonly nextMs: number;
  readonly epoch: string;
  readonly members: number;
  /** `true`: held; `false`: in line; undefined: gone. */
  state(index: number): boolean | undefined;
  /** Of what is held. */
  fence(index: number): number;
}

export function beatReply(reply: unknown): BeatReply {
  const list = reply as (number | string)[];
  return {
    nextMs: Number(list[0]),
    epoch: String(list[1]),
    members: Number(list[2]),
    state: (index) => list[3 + 2 * index] === 0 ? undefined : list[3 + 2 * index] === 1,
    fence: (index) => Number(list[4 + 2 * index]),
  };
}

/** Answers to `tick` and `limit`. */
export function dueReply(reply: unknown): { readonly nextMs: number; readonly epoch: string } {
  const [nextMs, epoch] = reply as [number, string];
  return { nextMs, epoch };
}

export interface Doorbell {
  readonly name: string;
  readonly id: string;
  /** -1: it was turned away, as the limit has shrunk below what it wants. */
  readonly fence: number;
}

export function doorbell(message: string): Doorbell {
  const [name = "", id = "", fence = "0"] = message.split(" ");
  return { name, id, fence: Number(fence) };
}

function flag(on: boolean): string {
  return on ? "1" : "0";
}

/** Whole ms, rounded up: no wait and no lease gets shorter. Without an end: -1. */
function whole(value: number): string {
  return Number.isFinite(value) ? String(Math.ceil(value)) : "-1";
}
