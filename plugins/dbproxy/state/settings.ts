/**
 * A session's replayable settings as an immutable value: two sessions with the same settings have the same object. The root
 * stands for a new session of its charset; every other node was reached by a SET that the server itself has confirmed.
 *
 * @module
 */
export interface Settings {
  /** Collation id of the handshake. */
  readonly charset: number;
  /** Values that the server has reported, by variable name; also `collation_connection` where a text gave it. */
  readonly values: ReadonlyMap<string, string>;
  /** The texts that lead here from the root, in their order, shortened where a later one overwrites all an earlier one set. */
  readonly path: readonly string[];
  readonly root: Settings;
}
