import { Watch } from "../figures/watch.ts";
import type { Answers } from "../page/answers.ts";
import { head } from "../page/head.ts";
import { page } from "../page/page.ts";
import { Cursor } from "./cursor.ts";
import { patch } from "./patch.ts";
import { Source } from "./source.ts";
import type { View } from "../page/view.ts";

/** Time (ms) between two looks. */
const pause = 2000;

const metricsPath = document.documentElement.dataset["metrics"] ?? "metrics";
const source = new Source(metricsPath);
const watch = new Watch();
let answers: Answers = {};
let frame: View["frame"];
let problem: View["problem"];
let timer: ReturnType<typeof setTimeout> | undefined;
let looking = false;

async function look(): Promise<void> {
  if (looking || document.hidden) return;
  looking = true;
  try {
    const [text, newest] = await Promise.all([source.metrics(), source.answers()]);
    const relation = watch.take(performance.now(), text);
    if (relation === "restarted") source.forget();
    answers = newest;
    frame = watch.history.last;
    problem = undefined;
  } catch (error) {
    watch.miss(performance.now());
    problem = { text: reason(error), since: problem?.since ?? Date.now() };
  }
  draw();
  looking = false;
  clearTimeout(timer);
  timer = setTimeout(look, pause);
}

/** The axes move when there are new numbers, not under the pointer. */
function axis(): { readonly now: number; readonly since: number } {
  const now = watch.history.moments.at(-1)?.at ?? performance.now();
  return { now, since: watch.since ?? now };
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "the server did not answer in time";
  return error instanceof TypeError ? "the server cannot be reached" : error.message;
}

function draw(): void {
  const { history, restartedAt } = watch;
  const time = { ...axis(), cursor: cursor.at };
  const view: View = { time, wallClock: Date.now(), history, frame, answers, problem, restartedAt, metricsPath };
  patch(document.getElementById("head")!, head(view));
  const main = document.getElementById("main")!;
  main.classList.toggle("old", problem !== undefined);
  patch(main, page(view));
  const mark = problem !== undefined || answers.ready?.ready === false ? "! " : "";
  document.title = `${mark}Fairlead`;
}

const cursor = new Cursor(document.getElementById("main")!, axis, draw);

// Nobody sees a hidden tab: it costs the server nothing.
document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  void look();
});
void look();
