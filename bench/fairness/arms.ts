/**
 * The arms: one Fairlead under each discipline, and nginx with php-fpm as the control.
 *
 * @module
 */
import type { Arm } from "../http/arms/arm.ts";
import { FAIRLEAD_ARMS } from "../http/arms/fairlead.ts";
import { NGINX_ARMS } from "../http/arms/nginx.ts";

/** The discipline under test. */
export const FAIR = "fifo";
/** The one that must fail the gates. */
export const BARGING = "barge";
export const CONTROL = "nginx";

/** What a closed loop needs: nobody is refused, however unlucky. */
const PATIENT = { max_queue: 10_000, grace: "300s" };

export type Admission = Readonly<Record<string, string | number | boolean>>;

export function toml(settings: Admission): string {
  return Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join("\n");
}

function base(name: string): Arm {
  const found = [...FAIRLEAD_ARMS, ...NGINX_ARMS].find((arm) => arm.name === name);
  if (found === undefined) throw new Error(`Cannot find the arm ${name} among those of bench/http`);
  return found;
}

/** @param more TOML after the tables of every Fairlead arm, such as `[[admission.rules]]` */
export function fairlead(name: string, runtime: string, settings: Admission, about: string, more = ""): Arm {
  const host = base(`fairlead-${runtime}`);
  return {
    name,
    about: `${host.about}; ${about}`,
    start: (o) => host.start({ ...o, admissionToml: toml(settings), fairleadToml: o.fairleadToml + more }),
  };
}

/** @param runtime bun, deno or binary */
export function closedArms(runtime: string): readonly Arm[] {
  const discipline = (name: string, about: string) =>
    fairlead(name, runtime, { discipline: name, ...PATIENT }, `\`discipline = "${name}"\`: ${about}`);
  return [
    discipline(FAIR, "a freed slot goes to who has waited longest"),
    discipline(BARGING, "newcomers race with who was woken; here to fail"),
    base(CONTROL),
  ];
}

/**
 * Classes for the mix of fast and slow pages: the slow one may take a quarter of the slots, and is shed first. At twice the capacity
 * the fast page alone fills more than one slot of four, and needs three for its own queue to stay short (Erlang C).
 */
function classesToml(slots: number): { readonly settings: Admission; readonly rules: string } {
  return {
    settings: { key_limit: Math.max(1, slots >> 2) },
    rules: `
[[admission.rules]]
path = ["/fast.php"]
class = "critical_plus"

[[admission.rules]]
path = ["/slow.php"]
class = "sheddable"
key = "route"
`,
  };
}

/** Arms for open arrivals: as an operator sets them, with a bounded wait. */
export function openArms(runtime: string, slots: number, grace: string, classes: boolean): readonly Arm[] {
  const bounded = { discipline: FAIR, max_queue: 1000, grace };
  const rules = classesToml(slots);
  return [
    fairlead(FAIR, runtime, bounded, `nobody waits longer than ${grace}`),
    ...(classes
      ? [fairlead("classes", runtime, { ...bounded, ...rules.settings }, "the slow page in a class below", rules.rules)]
      : []),
    base(CONTROL),
  ];
}
