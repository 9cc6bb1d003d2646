/** Who asks, as operators are shown it. */
export interface OwnerFacts {
  /** The id of its HTTP request, as in `X-Request-Id`. */
  readonly request?: string;
  readonly target?: string;
  readonly pid?: number;
  /** A session of the database proxy: its database, its user, and the connection id that its client was greeted with. */
  readonly db?: string;
  readonly user?: string;
  readonly connection?: number;
}

/** What is known of an owner: the id and the target of its HTTP request, its process, its database session, as far as it has them. */
export function describeOwner(owner: object | undefined): OwnerFacts {
  const { id, target, pid, db, user, connection } = (owner ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(typeof id === "string" ? { request: id } : undefined),
    ...(typeof target === "string" ? { target } : undefined),
    ...(typeof pid === "number" ? { pid } : undefined),
    ...(typeof db === "string" ? { db } : undefined),
    ...(typeof user === "string" ? { user } : undefined),
    ...(typeof connection === "number" ? { connection } : undefined),
  };
}
