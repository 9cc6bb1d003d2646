import * as z from "zod";

/**
 * A schema for a string that is never shown: not by `fairlead check`, not in an error. In JSON Schema it is `writeOnly`,
 * which is what marks it: a plugin with another schema library sets that.
 *
 * @example
 * ```ts
 * z.strictObject({ users: z.record(z.string(), secret()) });
 * ```
 */
export function secret(): z.ZodString {
  return z.string().meta({ writeOnly: true });
}
