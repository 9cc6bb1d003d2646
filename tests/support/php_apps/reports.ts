/**
 * One report of a user about workers as a test: a site and a server of its own.
 *
 * @module
 */
import { test } from "bun:test";
import { type Door, idle, makeSite, phpTable, type Site, withServer } from "./site.ts";
import { alive } from "../proc.ts";
import { type Config, type HostName, type TestServer } from "../server.ts";

export const doors = ["frankenphp", "goridge", "native"] as const;

/** Writes a test of one host; it must leave nothing running in the server. */
export type Report = (
  name: string,
  door: Door,
  php: Readonly<Record<string, unknown>>,
  body: (server: TestServer, site: Site) => Promise<void>,
  config?: Config,
  script?: string,
) => void;

export const reportsOn = (host: HostName): Report => (name, door, php, body, config = {}, script) =>
  test(`${name} (${door})`, async () => {
    const site = makeSite("lab");
    try {
      if (script !== undefined) site.write("worker-franken.php", script);
      if (php["max_requests"] === 25) site.write("boot.php", "<?php usleep(300000);");
      await withServer({ host, site, php: phpTable(door, site, php), config }, async (server) => {
        await body(server, site);
        if (alive(server.pid)) await idle(server);
      });
    } finally {
      site.remove();
    }
  });
