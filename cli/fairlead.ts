#!/usr/bin/env bun
/**
 * The command line. It loads the rest only when signals are heard: that takes the longest part of a start.
 *
 * @module
 */
import process from "node:process";
import { keepMemory } from "../core/allocator.ts";
import { hearSignals } from "./signals.ts";

if (process.argv[2] === "serve") {
  keepMemory();
  hearSignals();
}
const { main } = await import("./main.ts");
// `serve` resolves when the server has stopped.
process.exit(await main(process.argv.slice(2)));
