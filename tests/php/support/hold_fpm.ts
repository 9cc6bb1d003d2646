/**
 * A program that starts php-fpm, says so, and stays: its test kills it.
 *
 * @module
 */
import process from "node:process";
import { findPhpFpm } from "../../../plugins/php/find.ts";
import { startFpm } from "../../../plugins/php/master.ts";

const master = await startFpm({
  php: await findPhpFpm(),
  children: 2,
  tempDir: process.argv[2],
  onEvent() {},
});
console.log(`started ${master.pid}`);
setInterval(() => {}, 60_000);
