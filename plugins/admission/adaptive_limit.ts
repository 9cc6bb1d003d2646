import { Baseline } from "./baseline.ts";
import { ServiceWindow } from "./service_window.ts";

export interface AdaptiveOptions {
  /** The most permits there may ever be: the size of the pool. */
  readonly ceiling: number;
  /** The least limit it may set; 1 when absent. */
  readonly floor?: number;
  /** The limit during a probe; a quarter of the limit when absent. It is no floor. */
  readonly probe?: number;
  /** True: it sets the limit. False: it only says what it would. */
  readonly steer: boolean;
  /** Shortest window of measurement, in ms; 1000 when absent. */
  readonly windowMs?: number;
  /** In [0, 1); spreads probes. */
  readonly random?: () => number;
}

/** Samples below which a window says nothing. */
const enough = 10;
/** How often each permit should have come back in a window: less, and how much gets done is chance. */
const rounds = 4;
/** Windows after which one without enough samples is begun anew, and a probe without them given up. */
const [patience, probePatience] = [10, 3];
/** Above so much of the baseline, service has slowed down. */
const tolerance = 1.1;
/** Loaded windows between two probes, give or take a quarter. */
const probeEvery = 60;
/** Windows without a decrease after one that cost throughput; it doubles with each up to the second. */
const [shortFreeze, longFreeze] = [4, 64];

/** What a begun execution must give back when it ends. */
export interface Stamp {
  readonly at: number;
  readonly epoch: number;
}

/**
 * Finds how many permits, of at most the pool's size, its server can use: TCP Vegas (Brakmo and Peterson, 1994) over service times.
 * `limit x (1 - baseline / service time)` executions only wait for each other inside; more than the root of the limit are too
 * many. Every rule beside that was paid for by somebody:
 *
 * - only service time counts, never the wait at the gate; what began before the last change of the limit does not (Envoy 11579)
 * - a window is a median of at least 10 samples (Netflix 165), and changes the limit only while it was at least half used
 * - the limit grows only while service is as fast as the baseline (Netflix 134), by its root, so that a tenth becomes the whole
 *   within ten windows (Netflix 35)
 * - the baseline rises only by what was measured while few ran: latency that rises under load is no baseline (Netflix 165)
 * - where load never lets up, a probe makes few run for a moment; what a probe uses is no floor (Envoy 46532), it ends even when
 *   nothing completes, and no timer can be forgotten, as there is none (Envoy 8524)
 * - a decrease that costs throughput is taken back: service slows down for other reasons than us
 *
 * The clock is an argument everywhere: ms that never step back.
 */
export class AdaptiveLimit {
  readonly #options: AdaptiveOptions;
  readonly #windowMs: number;
  readonly #baseline = new Baseline();
  #window: ServiceWindow;
  #ceiling: number;
  #limit: number;
  #advice: number;
  #running = 0;
  /** Counts changes of the limit. */
  epoch = 0;
  #untilProbe: number;
  #probing = false;
  /** The last decrease, while it is not known yet what it cost. */
  #trial: { readonly from: number; readonly rate: number } | undefined = undefined;
  #frozen = 0;
  #freeze: number = shortFreeze;

  constructor(options: AdaptiveOptions, now: number) {
    this.#options = options;
    this.#windowMs = options.windowMs ?? 1000;
    this.#ceiling = this.#limit = this.#advice = options.ceiling;
    this.#window = new ServiceWindow(now, 0);
    this.#untilProbe = this.#nextProbe();
  }

  /** The limit to set now. */
  get limit(): number {
    if (!this.#options.steer) return this.#ceiling;
    return this.#probing ? this.#probe : this.#limit;
  }

  /** The limit it finds right; what it would set, when it does not steer. */
  get advice(): number {
    return this.#options.steer ? this.#limit : Math.round(this.#advice);
  }

  /** Service time without company, in ms; `undefined` before it is known. */
  get baseline(): number | undefined {
    return this.#baseline.ms;
  }

  /** The pool has another size. A limit at the old ceiling goes with it. */
  resize(ceiling: number, now: number): void {
    const atTop = this.#limit >= this.#ceiling;
    this.#ceiling = ceiling;
    this.#set(atTop ? ceiling : Math.min(this.#limit, ceiling), now);
    this.#advice = atTop ? ceiling : Math.min(this.#advice, ceiling);
    this.#trial = undefined;
  }

  /** An execution begins. */
  begin(now: number): Stamp {
    this.#tick(now);
    this.#window.begun(++this.#running);
    return { at: now, epoch: this.epoch };
  }

  /** It has ended, and its permits are free. */
  end(now: number): void {
    this.#window.ended(--this.#running);
    this.#tick(now);
  }

  /**
   * It ended at `ended` and was answered as usual, which may be known only later. Errors, timeouts and clients that left tell
   * nothing of how long service takes: they have an end, and no sample.
   */
  sample({ at, epoch }: Stamp, ended: number): void {
    if (epoch === this.epoch) this.#window.took(ended - at);
  }

  get #probe(): number {
    return Math.max(1, Math.min(this.#limit, this.#options.probe ?? Math.ceil(this.#limit / 4)));
  }

  #nextProbe(): number {
    return Math.round(probeEvery * (0.75 + 0.5 * (this.#options.random ?? Math.random)()));
  }

  #tick(now: number): void {
    const age = now - this.#window.start;
    if (age < this.#windowMs) return;
    const { samples } = this.#window;
    const long = age >= (this.#probing ? probePatience : patience) * this.#windowMs;
    if (samples >= (long ? enough : Math.max(enough, rounds * this.limit))) this.#close(now);
    else if (long) {
      if (this.#probing) this.#endProbe();
      this.#renew(now);
    }
  }

  #close(now: number): void {
    const { median, peak } = this.#window;
    if (this.#probing) {
      this.#baseline.quiet(median);
      this.#endProbe();
      return this.#renew(now);
    }
    const limit = this.#options.steer ? this.#limit : this.#ceiling;
    if (2 * peak < limit) {
      this.#baseline.quiet(median);
      this.#untilProbe = this.#nextProbe();
      this.#trial = undefined;
      return this.#renew(now);
    }
    const baseline = this.#baseline.loaded(median);
    if (!this.#options.steer) {
      this.#advise(limit, baseline, median);
      return this.#renew(now);
    }
    const next = this.#next(limit, baseline, median, this.#window.rateAt(limit, now));
    if (--this.#untilProbe <= 0 && this.#limit > 1) {
      this.#probing = true;
      this.#untilProbe = this.#nextProbe();
      this.#trial = undefined;
      this.epoch++;
    }
    this.#set(next, now);
  }

  /** `rate` is what a window got done all of which was saturated; undefined for others. */
  #next(limit: number, baseline: number, median: number, rate: number | undefined): number {
    const trial = this.#trial;
    this.#trial = undefined;
    if (trial !== undefined && rate !== undefined) {
      // As many fewer at work as the decrease took away, and half of that is missing in what gets done: it was no queue.
      const lost = (trial.from - limit) / trial.from / 2;
      if (rate < trial.rate * (1 - lost)) {
        this.#frozen = this.#freeze;
        this.#freeze = Math.min(2 * this.#freeze, longFreeze);
        return Math.min(trial.from, this.#ceiling);
      }
      this.#freeze = shortFreeze;
    }
    if (this.#frozen > 0) this.#frozen--;
    const room = Math.ceil(Math.sqrt(limit));
    if (median <= baseline * tolerance) {
      return this.#window.peak < limit ? limit : Math.min(this.#ceiling, limit + room);
    }
    const queue = limit * (1 - baseline / median);
    if (queue <= room || this.#frozen > 0 || rate === undefined) return limit;
    const step = Math.max(1, Math.ceil(limit / 10), Math.ceil((queue - room) / 2));
    const next = Math.max(this.#options.floor ?? 1, limit - step);
    if (next < limit) this.#trial = { from: limit, rate };
    return Math.min(next, limit);
  }

  /** Nothing follows the advice, so it is where the limit would come to rest: what works at once, and its root of room. */
  #advise(limit: number, baseline: number, median: number): void {
    const works = limit * Math.min(1, baseline / median);
    const rest = median <= baseline * tolerance
      ? this.#ceiling
      : Math.max(this.#options.floor ?? 1, Math.min(this.#ceiling, Math.ceil(works + Math.sqrt(works))));
    this.#advice += 0.3 * (rest - this.#advice);
  }

  #endProbe(): void {
    this.#probing = false;
    this.epoch++;
  }

  #set(limit: number, now: number): void {
    if (limit !== this.#limit) this.epoch++;
    this.#limit = limit;
    this.#renew(now);
  }

  #renew(now: number): void {
    this.#window = new ServiceWindow(now, this.#running);
  }
}
