import type { Assignment } from "../sql/statement.ts";
import type { OkPacket, Trackers } from "../wire/packets.ts";
import type { Settings } from "./settings.ts";

/** The known effect of a text. */
export interface Transition {
  readonly to: Settings;
  /** Status flags of the server's answer: AUTOCOMMIT, NO_BACKSLASH_ESCAPES, ANSI_QUOTES. */
  readonly status: number;
}

export interface GraphOptions {
  /** Nodes kept, roots not counted; when so many are known nothing more is learned. 10,000 when absent. */
  readonly maxNodes?: number;
  /** Whether a system variable (lower case) may be set again from a text; everything when absent. */
  readonly replayable?: (name: string) => boolean;
}

export class SettingsGraph {
  constructor(_options: GraphOptions = {}) {
  }

  get size(): number {
    return 0;
  }

  root(_charset: number): Settings {
    throw new Error("Not yet");
  }

  follow(_from: Settings, _text: string): Transition | undefined {
    return undefined;
  }

  learn(
    _from: Settings,
    _text: string,
    _assignments: readonly Assignment[],
    _ok: OkPacket,
    _trackers: Trackers,
  ): Settings | undefined {
    return undefined;
  }

  reading(_from: Settings, _text: string): Uint8Array | undefined {
    return undefined;
  }

  learnReading(_from: Settings, _text: string, _names: readonly string[], _reply: Uint8Array): void {
  }

  forget(): void {
  }
}
