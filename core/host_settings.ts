import * as z from "zod";
import type { Tls } from "./http/tls.ts";
import { hostNameRule, isHostName } from "./http/virtual_hosts.ts";

/** One entry of `server.hosts`: a site of its own. */
export interface HostSettings {
  readonly public: string;
  readonly aliases: readonly string[];
  readonly tls?: Tls | undefined;
}

const hostName = z.string().refine(isHostName, hostNameRule);

/** The schema of a certificate and its key. */
export const tlsTable: z.ZodType<Tls> = z.strictObject({
  cert: z.string().describe("PEM file with the certificate chain."),
  key: z.string().describe("PEM file with the private key."),
});

/** The schema of `server.hosts`. */
export const hostsTable: z.ZodType<Readonly<Record<string, HostSettings>>> = z.record(
  hostName,
  z.strictObject({
    public: z.string().describe("The only folder served to this host and its aliases, relative to this file."),
    aliases: z.array(hostName).default([]).describe(
      'Its other names, such as ["www.shop.example", "*.shop.example"]. An exact name counts before a wildcard, a longer wildcard ' +
        "before a shorter.",
    ),
    tls: tlsTable.optional().describe(
      "A certificate of its own, for clients that ask for one of its names (SNI); server.tls when absent.",
    ),
  }),
);

/** What is wrong between entries: where, below `server`, and what was expected. */
export function* hostProblems(
  hosts: Readonly<Record<string, HostSettings>>,
  hasTls: boolean,
): Iterable<readonly [path: (string | number)[], expected: string]> {
  const owners = new Map<string, string>();
  const twice = (name: string, owner: string): string | undefined => {
    const first = owners.get(name.toLowerCase());
    owners.set(name.toLowerCase(), first ?? owner);
    return first && `expected a name that is named once; server.hosts.${JSON.stringify(first)} has it already`;
  };
  const all = Object.entries(hosts);
  for (const [key] of all) {
    const problem = twice(key, key);
    if (problem !== undefined) yield [["hosts", key], problem];
  }
  for (const [key, { aliases, tls }] of all) {
    for (const [i, alias] of aliases.entries()) {
      const problem = twice(alias, key);
      if (problem !== undefined) yield [["hosts", key, "aliases", i], problem];
    }
    if (tls !== undefined && !hasTls) {
      yield [["hosts", key, "tls"], "expected server.tls too: the certificate for clients that name none of the hosts"];
    }
  }
}
