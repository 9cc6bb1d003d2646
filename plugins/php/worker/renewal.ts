import type { CoreError } from "../../../core/error.ts";
import type { Alarm } from "../../../core/alarm.ts";
import { Boots, type Generation } from "./boots.ts";
import type { Launch } from "./handle.ts";
import type { Member } from "./member.ts";
import type { WorkerPoolOptions } from "./options.ts";
import { Roll } from "./roll.ts";
import type { Staff } from "./staff.ts";

/** Sees to it that there are as many workers as wanted, of the right generation: boots successors, and reloads. */
export class Renewal {
  readonly #options: WorkerPoolOptions;
  readonly #random: () => number;
  readonly #staff: Staff;
  readonly #alarm: Alarm;
  #generation: Generation;
  #roll: Roll | undefined;
  #next: Roll | undefined;

  constructor(options: WorkerPoolOptions, random: () => number, staff: Staff, alarm: Alarm) {
    this.#options = options;
    this.#random = random;
    this.#staff = staff;
    this.#alarm = alarm;
    this.#generation = this.#begun(options.launch);
  }

  /** What is booted when a worker is missing. */
  get generation(): Generation {
    return this.#generation;
  }

  /** As {@linkcode WorkerPool.reload}; the next {@linkcode Renewal.act} begins. */
  reload(launch: Launch): Promise<void> {
    const roll = new Roll(this.#begun(launch));
    if (this.#roll === undefined) this.#roll = roll;
    else {
      // Who asked for the one in between is content with what comes after it.
      const before = this.#next;
      if (before !== undefined) roll.done.then(() => before.resolve(), (error: CoreError) => before.reject(error));
      this.#next = roll;
    }
    return roll.done;
  }

  /** Whether workers of this launch are to be booted. */
  wants(launch: Launch): boolean {
    return [this.#generation, this.#roll?.generation, this.#next?.generation].some((one) => one?.launch === launch);
  }

  close(error: CoreError): void {
    this.#roll?.reject(error);
    this.#next?.reject(error);
    this.#roll = this.#next = undefined;
  }

  booted(member: Member): void {
    const roll = this.#roll;
    if (roll === undefined || roll.committed || roll.generation !== member.generation) return;
    this.#generation = roll.generation;
    roll.commit(this.#staff);
  }

  /** A member did not boot, or ended as if it had not. */
  failed(member: Member, error: CoreError): void {
    const roll = this.#roll;
    if (roll === undefined || roll.generation !== member.generation || !roll.givesUp(member.timedOut)) return;
    roll.reject(error);
    this.#follow();
    if (!roll.committed) roll.abandon(this.#staff);
  }

  /** As many work as are wanted (which the caller has looked at), nobody is to be replaced, and no reload is under way. */
  get calm(): boolean {
    return this.#roll === undefined && this.#staff.booting(this.#generation) === 0 && !this.#staff.anyDue;
  }

  /** Does what is to do now. */
  act(now: number): void {
    while (this.#roll?.committed) {
      const again = this.#roll.turn(this.#staff, now, this.#options.reloadPatience ?? 5000);
      if (again !== "done") {
        if (again !== Infinity) this.#alarm.by(again);
        break;
      }
      this.#roll.resolve();
      this.#follow();
    }
    this.#boot();
  }

  #boot(): void {
    const staff = this.#staff;
    const roll = this.#roll;
    if (roll !== undefined && !roll.committed) this.#begin(roll.generation, 1 - staff.booting(roll.generation));
    const booting = staff.booting(this.#generation);
    const vacant = -staff.surplus - booting;
    if (vacant > 0) return this.#begin(this.#generation, vacant);
    // One successor at a time: the next is booted when this one has taken its place.
    const due = roll?.committed !== false && staff.anyDue;
    if (vacant === 0 && booting === 0 && due) this.#begin(this.#generation, 1);
  }

  #begin(generation: Generation, wanted: number): void {
    const again = this.#staff.begin(generation, wanted);
    if (again !== undefined) this.#alarm.by(again);
  }

  #begun(launch: Launch): Generation {
    return { launch, boots: new Boots(this.#options, this.#random), born: 0 };
  }

  #follow(): void {
    this.#roll = this.#next;
    this.#next = undefined;
  }
}
