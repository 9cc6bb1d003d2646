import { CAP } from "../wire/capabilities.ts";

/**
 * Client flags that a server remembers for a connection and that no command changes: a backend serves only clients that want
 * the same ones. MULTI_STATEMENTS is not among them, since COM_SET_OPTION switches it.
 */
export const kindFlags: number = CAP.FOUND_ROWS | CAP.NO_SCHEMA | CAP.ODBC | CAP.LOCAL_FILES | CAP.IGNORE_SPACE |
  CAP.INTERACTIVE | CAP.PS_MULTI_RESULTS | CAP.QUERY_ATTRIBUTES;

/**
 * What can never be changed on a connection. No command takes a default schema away, so a client without one must not get
 * a backend that has one: unqualified names would be found.
 */
export function kindOf(capabilities: number, schema: string | undefined): string {
  return `${capabilities & kindFlags}${schema === undefined ? "" : "/schema"}`;
}

/** The capability bits that a kind stands for. */
export function flagsOf(kind: string): number {
  return parseInt(kind, 10);
}
