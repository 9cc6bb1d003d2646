/**
 * An arm: one server with a PHP of its own, ready to be measured.
 *
 * @module
 */
import type { Owner } from "../../support/ownership.ts";
import type { SiteName } from "../pages.ts";

export interface ArmOptions {
  readonly site: SiteName;
  /** The folder that is served. */
  readonly publicDir: string;
  /** An empty folder for this arm's configuration, sockets and logs. */
  readonly dir: string;
  /** PHP children: the same for every arm. */
  readonly children: number;
  /** The php-fpm binary: the same for every arm. */
  readonly phpFpm: string;
  /** Environment that makes every PHP read the same php.ini. */
  readonly env: Readonly<Record<string, string>>;
  /** Where `mod.ts`, `node_modules` and `dist` of the Fairlead under test are. */
  readonly fairleadRoot: string;
  /** Appended to the configuration of every Fairlead arm. */
  readonly fairleadToml: string;
  /** The lines of `[admission]` of a Fairlead arm, when they are not those of everybody. */
  readonly admissionToml?: string;
}

export interface Running extends Owner {
  readonly port: number;
  /** Roots of every process of this arm. */
  readonly roots: readonly number[];
  readonly command: readonly string[];
  /** Configuration files by name, for the record. */
  readonly config: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface Arm {
  readonly name: string;
  readonly about: string;
  start(options: ArmOptions): Promise<Running>;
}
