/** The part of the Standard Schema contract (standardschema.dev) that the core reads: any schema library will do. */
export interface StandardSchema<I = unknown, O = I> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): SchemaResult<O> | Promise<SchemaResult<O>>;
    readonly types?: { readonly input: I; readonly output: O } | undefined;
  };
}

/** One thing wrong with a value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** What validation returns. */
export type SchemaResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** What a schema makes of a value. */
export type SchemaOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];

/** A schema that takes whatever comes: for plugins without a configuration of their own. */
export const anything: StandardSchema = {
  "~standard": { version: 1, vendor: "fairlead", validate: (value) => ({ value }) },
};
