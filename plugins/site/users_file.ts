import { readFileSync, statSync } from "node:fs";
import { CoreError } from "../../core/error.ts";
import type { Log } from "../../core/plugin.ts";
import { parseUsers, type Users } from "./users.ts";

/** How long (ms) the file is taken to be as it was. */
const lookMs = 1000;

/**
 * A file of users that is read again when it has changed. What cannot be read then is told in the log, and those who were known stay so.
 */
export class UsersFile {
  readonly #path: string;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #text: (path: string) => string;
  #users: Users;
  /** Of the file as those users stood in it. */
  #stamp: string;
  /** What was told last of a file that cannot be read. */
  #told: string | undefined;
  #looked: number;

  /** @throws SITE_USERS_UNREADABLE, SITE_USERS_INVALID */
  constructor(
    path: string,
    log: Log,
    now: () => number = () => performance.now(),
    text: (path: string) => string = (file) => readFileSync(file, "utf8"),
  ) {
    this.#path = path;
    this.#log = log;
    this.#now = now;
    this.#text = text;
    this.#stamp = this.#look();
    this.#users = this.#read();
    this.#looked = now();
  }

  /** The users there are now. */
  get users(): Users {
    const now = this.#now();
    if (now - this.#looked < lookMs) return this.#users;
    this.#looked = now;
    const stamp = this.#look();
    if (stamp === this.#stamp) return this.#users;
    try {
      this.#users = this.#read();
      this.#stamp = stamp;
      this.#told = undefined;
      this.#log("info", "users read again", { file: this.#path, users: this.#users.size });
    } catch (error) {
      // Tried again with the next look, for it may be the system that had no file left to open; and told once.
      const what = `${stamp} ${(error as Error).message}`;
      if (what !== this.#told) {
        this.#log("error", "Cannot read the users again: those who were known stay", { file: this.#path, error });
      }
      this.#told = what;
    }
    return this.#users;
  }

  /** Reads the file now. Throws what is wrong with it, and has changed nothing then. */
  reload(): void {
    const stamp = this.#look();
    this.#users = this.#read();
    this.#stamp = stamp;
    this.#told = undefined;
  }

  #read(): Users {
    let text: string;
    try {
      text = this.#text(this.#path);
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      const why = code === "ENOENT" ? "no such file" : code === "EACCES" ? "not allowed" : message;
      throw new CoreError("SITE_USERS_UNREADABLE", `Cannot read ${this.#path}: ${why}`, { cause });
    }
    return parseUsers(text, this.#path);
  }

  #look(): string {
    try {
      const { ino, size, mtimeMs, ctimeMs } = statSync(this.#path);
      return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
    } catch {
      return "";
    }
  }
}
