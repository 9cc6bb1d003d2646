import * as z from "zod";
import type { Table } from "../../core/config/json_schema.ts";
import { duration, size } from "../../core/config/units.ts";

/** A configuration with one of everything. */
export const tables: readonly Table[] = [
  {
    name: "server",
    schema: z.strictObject({
      listen: z.array(z.string()).default(["127.0.0.1:8080"]).describe("Addresses to listen on"),
      max_body: size("8MB").describe("Largest request body"),
      body_timeout: duration("10s").describe("Longest pause between two bytes of a body"),
    }).describe("The public listener."),
  },
  {
    name: "admission",
    schema: z.strictObject({
      max_queue: z.int().min(1).default(100),
      mode: z.enum(["fifo", "lifo"]).default("fifo").describe("Order of the line: a|b"),
      grace: duration().optional(),
      auto: z.boolean().default(true),
    }),
  },
  {
    name: "php",
    schema: z.strictObject({
      root: z.string().default("public"),
      version: z.string().optional(),
      password: z.string().optional(),
      dsn: z.string().default("mysql://app@db/shop"),
      env: z.record(z.string(), z.string()).default({}),
      pool: z.strictObject({ min: z.int().default(1), idle: duration("1m") }).prefault({}),
      workers: z.union([z.literal("auto"), z.int().min(1)]).default("auto"),
      tls: z.union([z.boolean(), z.strictObject({ cert: z.string(), key: z.string() })]).default(false),
    }),
  },
  {
    name: "bulkhead",
    schema: z.strictObject({
      routes: z.array(z.strictObject({
        name: z.string(),
        limit: z.int(),
        rules: z.array(z.strictObject({ path: z.string().startsWith("/") })).default([]),
      })).default([]),
    }),
  },
  {
    name: "geo",
    external: true,
    schema: z.strictObject({ database: z.string().default("geo.mmdb"), useCache: z.boolean().optional() }),
  },
];
