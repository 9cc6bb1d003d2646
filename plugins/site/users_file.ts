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
  #users: Users;
  #stamp: string;
  #looked: number;

  /** @throws SITE_USERS_UNREADABLE, SITE_USERS_INVALID */
  constructor(path: string, log: Log, now: () => number = () => performance.now()) {
    this.#path = path;
    this.#log = log;
    this.#now = now;
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
    this.#stamp = stamp;
    try {
      this.#users = this.#read();
      this.#log("info", "users read again", { file: this.#path, users: this.#users.size });
    } catch (error) {
      this.#log("error", "Cannot read the users again: those who were known stay", { file: this.#path, error });
    }
    return this.#users;
  }

  /** Reads the file now. Throws what is wrong with it, and has changed nothing then. */
  reload(): void {
    const stamp = this.#look();
    this.#users = this.#read();
    this.#stamp = stamp;
  }

  #read(): Users {
    let text: string;
    try {
      text = readFileSync(this.#path, "utf8");
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
