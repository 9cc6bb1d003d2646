import type { Exchange, Outcome } from "../../core/exchange.ts";
import type { Clock } from "../../core/clock.ts";
import type { NamedGates } from "./gates.ts";
import { cookieOf } from "./key_source.ts";
import { type Lane, type LaneParts, PlainLane } from "./lane.ts";
import type { LaneMeter } from "./metrics.ts";
import { classifier } from "./rules.ts";
import { RuledLane, type RuledParts } from "./ruled_lane.ts";
import type { SelfCalls } from "./self_calls.ts";
import type { SessionLines } from "./session_lines.ts";
import { type AdmissionSettings, differences } from "./settings.ts";
import type { SizedGates } from "./sized_gate.ts";
import { Steering } from "./steering.ts";

export interface LanesParts {
  readonly named: NamedGates;
  readonly sized: SizedGates | undefined;
  readonly sessions: SessionLines | undefined;
  readonly self: SelfCalls | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly patience: (x: Exchange) => number;
  meter(name: string): LaneMeter;
}

/** The lanes that exchanges have come to, each made when the first does. */
export class Lanes {
  readonly #settings: AdmissionSettings;
  readonly #parts: LanesParts;
  readonly #lanes = new Map<string, Lane>();
  readonly #steered = new Map<string, Steering>();
  /** What all lanes share whose exchanges are not alike; undefined where they are. */
  readonly #rules: Pick<RuledParts, "classify" | "sessions" | "self" | "grace"> | undefined;

  constructor(settings: AdmissionSettings, parts: LanesParts) {
    this.#settings = settings;
    this.#parts = parts;
    if (differences(settings).alike) return;
    const { sessions: lines, self } = parts;
    const { serialize, rules, key, hints, grace } = settings;
    this.#rules = {
      classify: classifier({ rules, key, hints }),
      sessions: lines && { lines, key: ({ headers }) => cookieOf(headers, serialize!)?.slice(0, 200) || undefined },
      self,
      grace,
    };
  }

  /** Undefined where nobody has opened a gate. */
  find(name: string): Lane | undefined {
    return this.#lanes.get(name) ?? this.#make(name);
  }

  steered(): Iterable<readonly [lane: string, Steering]> {
    return this.#steered;
  }

  /** How an exchange ended, for those lanes that measure. */
  readonly answered = (x: Exchange, outcome: Outcome): void => {
    for (const steering of this.#steered.values()) steering.answered(x, outcome);
  };

  #make(name: string): Lane | undefined {
    const { named, sized, patience, clock, random } = this.#parts;
    const gate = named.find(name);
    if (gate === undefined) return undefined;
    const own = sized?.sized(name);
    const parts: LaneParts = { gate, meter: this.#parts.meter(name), patience, now: () => clock.now() };
    const { adaptive } = this.#settings;
    const steering = adaptive === "off" || own === undefined
      ? undefined
      : new Steering(own, clock, adaptive === "on", random);
    if (steering !== undefined) this.#steered.set(name, steering);
    const lane = this.#rules === undefined
      ? new PlainLane(parts)
      : new RuledLane({ ...parts, ...this.#rules, steering, spare: () => own?.spare });
    this.#lanes.set(name, lane);
    return lane;
  }
}
