import type { Criticality } from "../../core/contracts/gates.ts";
import { classes, placeOf } from "./classes.ts";

/** Urgencies of RFC 9218 from which on a request is less than critical: browsers ask for pages with 0 and for data with up to 4. */
const lower = 5;
/** "Background" in RFC 9218, section 4.1. */
const background = 7;

/** The last `u` of a dictionary counts (RFC 8941, section 4.2.2). */
const urgency = /^(?:.*,)?[ \t]*u=([0-7])[ \t]*(?:$|[,;])/;

/**
 * The class a request asks for itself, in `Priority` (RFC 9218: `u=5` and `u=6` are `sheddable_plus`, `u=7` is `sheddable`) or by
 * being a prefetch (`Sec-Purpose`; `sheddable`). A client can only lower itself: whoever could raise himself, would.
 *
 * @example
 * ```ts
 * hinted(new Headers({ "sec-purpose": "prefetch" }), "critical"); // "sheddable"
 * hinted(new Headers({ priority: "u=0" }), "sheddable"); // "sheddable"
 * ```
 */
export function hinted(headers: Pick<Headers, "get">, own: Criticality): Criticality {
  return classes[Math.max(placeOf(own), placeOf(asked(headers)))]!;
}

function asked(headers: Pick<Headers, "get">): Criticality {
  const purpose = headers.get("sec-purpose");
  if (purpose !== null && /^[ \t]*prefetch(?:[ \t]*;|[ \t]*$)/.test(purpose)) return "sheddable";
  const priority = headers.get("priority");
  const u = priority === null ? 0 : Number(urgency.exec(priority)?.[1] ?? 0);
  if (u < lower) return "critical_plus";
  return u < background ? "sheddable_plus" : "sheddable";
}
