/** Who asks, as operators are shown it. */
export interface OwnerFacts {
  /** The id of its HTTP request, as in `X-Request-Id`. */
  readonly request?: string;
  readonly target?: string;
  readonly pid?: number;
}

/** What is known of an owner: the id and the target of its HTTP request, and its process, as far as it has them. */
export function describeOwner(owner: object | undefined): OwnerFacts {
  const { id, target, pid } = (owner ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(typeof id === "string" ? { request: id } : undefined),
    ...(typeof target === "string" ? { target } : undefined),
    ...(typeof pid === "number" ? { pid } : undefined),
  };
}
