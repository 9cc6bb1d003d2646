import { COM } from "../wire/commands.ts";

/** Texts kept of one session's prepared statements; beyond, executions are counted without their text. */
const most = 1000;
/** Bytes kept of one text. */
const longest = 4096;

/** The texts of a session's prepared statements, for the statistics of their executions. */
export class PreparedTexts {
  #texts: Map<number, Uint8Array> | undefined;
  #last: Uint8Array | undefined;

  /** A statement is being prepared. */
  preparing(sql: Uint8Array): void {
    this.#last = sql.slice(0, longest);
  }

  /** It got this id. */
  add(id: number): void {
    if (this.#last === undefined) return;
    const texts = this.#texts ??= new Map();
    if (texts.size < most) texts.set(id, this.#last);
  }

  delete(id: number): void {
    this.#texts?.delete(id);
  }

  clear(): void {
    this.#texts = undefined;
  }

  /** The text that a command of a prepared statement is about; undefined for other commands. */
  sqlOf(command: number, id: number): Uint8Array | undefined {
    if (command === COM.STMT_EXECUTE) return this.#texts?.get(id);
    return command === COM.STMT_PREPARE ? this.#last : undefined;
  }
}
