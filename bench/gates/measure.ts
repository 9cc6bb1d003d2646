/**
 * Measures one arm in one experiment, and prints the cost of an operation, or `null` when the arm cannot do it. Started by `run.ts`, on
 * either runtime: `measure.ts EXPERIMENT ARM DEPTH MS`.
 *
 * @module
 */
import process from "node:process";
import { ARMS } from "./arms/all.ts";
import { EXPERIMENTS } from "./experiments.ts";

const [experimentName, armName, depth, ms] = process.argv.slice(2);
const experiment = EXPERIMENTS.find(({ name }) => name === experimentName);
const load = ARMS[armName ?? ""];
if (experiment === undefined || load === undefined) throw new Error(`Nothing to measure: ${process.argv.slice(2)}`);
const make = await load();
const cost = experiment.can(make(1)) ? await experiment.run(make, Number(depth), Number(ms)) : null;
process.stdout.write(`${JSON.stringify(cost)}\n`, () => process.exit(0));
