/**
 * What `bun:test` resolves to under Deno (see `imports` in deno.json), so that one suite runs on both runtimes.
 *
 * @module
 */
export { after as afterAll, afterEach, before as beforeAll, beforeEach, describe, it, test } from "node:test";
export { expect } from "expect";
