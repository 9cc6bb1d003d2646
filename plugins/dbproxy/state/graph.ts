import type { Assignment } from "../sql/statement.ts";
import type { OkPacket, Trackers } from "../wire/packets.ts";
import { effect, restStatus } from "./effect.ts";
import { isPlain, SettingsNode, shortened } from "./node.ts";
import type { Settings } from "./settings.ts";

/** The known effect of a text. */
export interface Transition {
  readonly to: Settings;
  /** Status flags of the server's answer: AUTOCOMMIT, NO_BACKSLASH_ESCAPES, ANSI_QUOTES. */
  readonly status: number;
  /** How many warnings the server had; running the text again, where it leads, gives them again. */
  readonly warnings: number;
}

export interface GraphOptions {
  /** Nodes kept, roots not counted; when one more is met all is forgotten, and learned anew. 10,000 when absent. */
  readonly maxNodes?: number;
  /** Whether a system variable (lower case) may be set again from a text; all that are known to be safe when absent. */
  readonly replayable?: (name: string) => boolean;
  /** In ms; only differences count. */
  readonly now?: () => number;
  /** How long, in ms, a global setting that was read counts as unchanged; 0 when absent: it is never remembered. */
  readonly globalsKeep?: number;
}

/** Longer texts and replies (bytes) are not worth remembering: what applications send to every session is short. */
const longestText = 1_024;
const longestReply = 4_096;
/** Edges and readings, for each node that may be. */
const factsPerNode = 4;

/**
 * What SET texts do, as the server itself has reported it. A text that was seen once from a known state need not be run to
 * be answered, and may be run again to bring a backend there.
 *
 * It has a limit; texts that are never the same (a comment with the time in it) would fill it once and for all if it did not
 * begin anew then.
 *
 * A text that the server answers in two ways from one state (its global settings were changed, say) is never learned again,
 * and everything else is forgotten with it. Sessions that hold a forgotten node go on from it: their texts are no longer
 * answered from memory, and no backend is taken for theirs without a reset.
 */
export class SettingsGraph {
  readonly #maxNodes: number;
  readonly #replayable: (name: string) => boolean;
  readonly #now: () => number;
  readonly #globalsKeep: number;
  readonly #roots = new Map<number, SettingsNode>();
  readonly #nodes = new Map<string, SettingsNode>();
  readonly #unreliable = new Set<string>();
  #era: object = {};
  #facts = 0;

  constructor(options: GraphOptions = {}) {
    this.#maxNodes = options.maxNodes ?? 10_000;
    this.#replayable = options.replayable ?? (() => true);
    this.#now = options.now ?? (() => 0);
    this.#globalsKeep = options.globalsKeep ?? 0;
  }

  /** Nodes known, roots not counted. */
  get size(): number {
    return this.#nodes.size;
  }

  /** A new session with this collation id. */
  root(charset: number): Settings {
    let root = this.#roots.get(charset);
    if (root === undefined) this.#roots.set(charset, root = new SettingsNode(charset, this.#era));
    return root;
  }

  /** Where the text is known to lead. */
  follow(from: Settings, text: string): Transition | undefined {
    return from instanceof SettingsNode && text !== "" ? from.edges.get(text) : undefined;
  }

  /**
   * Takes note of what the server reported for a text, and returns where it led. Undefined when the report does not explain
   * the whole effect: then the session's settings are no longer known.
   */
  learn(
    from: Settings,
    text: string,
    assignments: readonly Assignment[],
    ok: OkPacket,
    trackers: Trackers,
  ): Settings | undefined {
    if (!this.#knows(from) || !isKey(text) || this.#unreliable.has(text)) return undefined;
    const known = from.edges.get(text);
    const changes = effect(text, assignments, ok, trackers, this.#replayable);
    if (changes === undefined) return known === undefined ? undefined : this.#doubt(text);
    const values = new Map([...from.values, ...changes]);
    const key = keyOf(from.charset, values);
    const status = restStatus(ok);
    if (known !== undefined) {
      return known.to === this.#nodes.get(key) && known.status === status && known.warnings === ok.warnings
        ? known.to
        : this.#doubt(text);
    }
    if (this.#full) return this.#clear();
    const steps = shortened([...from.steps, { text, changes, from, plain: isPlain(text) }]);
    let to = this.#nodes.get(key);
    if (to === undefined) {
      if (this.#nodes.size >= this.#maxNodes) return this.#clear();
      this.#nodes.set(key, to = new SettingsNode(from.charset, this.#era, from.root, values, steps));
    } else to.offer(steps);
    from.edges.set(text, { to, status, warnings: ok.warnings });
    this.#facts++;
    return to;
  }

  /** The server's reply to a text that only reads settings, where it is known to be the same now. */
  reading(from: Settings, text: string): Uint8Array | undefined {
    const known = from instanceof SettingsNode && text !== "" ? from.readings.get(text) : undefined;
    return known != null && (known.until === Infinity || this.#now() < known.until) ? known.reply : undefined;
  }

  /**
   * Takes note of the reply to a text that reads the variables `names`. What the session has not set itself is the server's
   * default of the moment, which can be changed from elsewhere: that is remembered for a short time only.
   */
  learnReading(from: Settings, text: string, names: readonly string[], reply: Uint8Array): void {
    if (!this.#knows(from) || !isKey(text) || names.length === 0 || reply.length === 0) return;
    const lasting = names.every((name) => from.values.has(name));
    if (!lasting && (this.#globalsKeep === 0 || !names.every(this.#replayable))) return;
    const until = lasting ? Infinity : this.#now() + this.#globalsKeep;
    const known = from.readings.get(text);
    if (known === null) return;
    if (known !== undefined && lasting) {
      if (!sameBytes(known.reply, reply)) from.readings.set(text, null);
      return;
    }
    if (known === undefined) {
      if (reply.length > longestReply) return;
      if (this.#full) return this.#clear();
      this.#facts++;
    }
    from.readings.set(text, { reply: reply.slice(), until });
  }

  /** Begins anew: what was learned may no longer be so. */
  forget(): void {
    this.#unreliable.clear();
    this.#clear();
  }

  #clear(): undefined {
    for (const nodes of [this.#roots, this.#nodes]) {
      for (const node of nodes.values()) {
        node.edges.clear();
        node.readings.clear();
      }
      nodes.clear();
    }
    this.#era = {};
    this.#facts = 0;
  }

  #knows(node: Settings): node is SettingsNode {
    return node instanceof SettingsNode && node.era === this.#era;
  }

  get #full(): boolean {
    return this.#facts >= this.#maxNodes * factsPerNode;
  }

  /** The server contradicts what was learned of the text. */
  #doubt(text: string): undefined {
    this.#clear();
    if (this.#unreliable.size >= this.#maxNodes) this.#unreliable.clear();
    this.#unreliable.add(text);
  }
}

/** Whether a text may be one; an empty one stands for none. */
function isKey(text: string): boolean {
  return text !== "" && text.length <= longestText;
}

function keyOf(charset: number, values: ReadonlyMap<string, string>): string {
  return JSON.stringify([charset, ...[...values].sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
