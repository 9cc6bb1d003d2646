/**
 * Before any test: properties draw from the seed of the environment, where there is one. `npm test` sets one, so that a run says
 * something of the change and not of the draw; `npm run test:properties` draws others, for as long as one likes.
 */
import fc from "fast-check";

const seed = process.env["TEST_SEED"];
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
