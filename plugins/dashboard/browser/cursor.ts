import { spanOf } from "../page/axis.ts";

/** Time (ms) that an arrow key moves. */
const step = 2000;

/** The moment that is pointed at, in all charts at once: with the pointer, or with the arrow keys in a chart that has the focus. */
export class Cursor {
  /** On the clock of the charts. */
  at: number | undefined;
  readonly #axis: () => { readonly now: number; readonly since: number };
  readonly #draw: () => void;

  constructor(within: HTMLElement, axis: () => { readonly now: number; readonly since: number }, draw: () => void) {
    this.#axis = axis;
    this.#draw = draw;
    within.addEventListener("pointermove", (event) => this.#point(event));
    within.addEventListener("pointerdown", (event) => this.#point(event));
    within.addEventListener("pointerleave", () => this.#move(undefined));
    within.addEventListener("keydown", (event) => this.#key(event));
    within.addEventListener("focusout", () => this.#move(undefined));
  }

  #point({ target, clientX }: PointerEvent): void {
    const plot = target instanceof Element ? target.closest(".plot svg") : null;
    if (plot === null) return this.#move(undefined);
    const { left, width } = plot.getBoundingClientRect();
    const { now } = this.#axis();
    this.#move(now - (1 - (clientX - left) / width) * this.#span());
  }

  #key(event: KeyboardEvent): void {
    if (!(event.target instanceof Element) || event.target.closest(".plot svg") === null) return;
    const { now } = this.#axis();
    const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
    if (event.key === "Escape") return this.#move(undefined);
    if (by === undefined) return;
    event.preventDefault();
    const at = (this.at ?? now) + by;
    this.#move(at > now ? undefined : Math.max(at, now - this.#span()));
  }

  #span(): number {
    return spanOf({ ...this.#axis(), cursor: undefined });
  }

  #move(at: number | undefined): void {
    if (at === this.at) return;
    this.at = at;
    this.#draw();
  }
}
