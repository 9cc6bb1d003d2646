import type { Criticality } from "../../core/contracts/gates.ts";

/** The classes, most critical first; a class is known by its place here. */
export const classes: readonly Criticality[] = ["critical_plus", "critical", "sheddable_plus", "sheddable"];

/** The place of the class a waiter belongs to that names none. */
export const defaultClass = 1;

const places: Readonly<Record<Criticality, number>> = {
  critical_plus: 0,
  critical: 1,
  sheddable_plus: 2,
  sheddable: 3,
};

/** The place of `criticality` among the classes. */
export function placeOf(criticality: Criticality | undefined): number {
  return criticality === undefined ? defaultClass : places[criticality];
}
