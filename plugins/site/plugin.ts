/** Headers, redirects and access: what nginx says with `add_header`, `return`, `allow` and `auth_basic`. @module */
import { resolve } from "node:path";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { Reloads } from "../../core/contracts/reloads.ts";
import { Site } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { thenable } from "../../core/hooks.ts";
import { type AnyPlugin, type Awaitable, definePlugin } from "../../core/plugin.ts";
import { Access, type Auth } from "./access.ts";
import { type AuthSettings, config } from "./config.ts";
import { SiteHeaders } from "./headers.ts";
import { PasswordCheck } from "./password_check.ts";
import { Redirects } from "./redirects.ts";
import { UsersFile } from "./users_file.ts";
import { doorkeeper } from "./doorkeeper.ts";
import { halfNamed } from "./half_named.ts";

export default definePlugin({
  name: "site",
  api: 1,
  config,
  wants: [Meter, Reloads, Site],
  setup(ctx) {
    const { headers, redirects, access } = ctx.config;
    if (headers.length + redirects.length + access.length === 0) return;
    const meter = ctx.find(Meter) ?? noMeter;
    for (const text of halfNamed(access, ctx.find(Site)?.virtualHosts ?? [])) ctx.log("warn", text);

    const files = new Map<string, UsersFile>();
    // What is the same is one: rules are told apart by it.
    const auths = new Map<string, Auth>();
    const authOf = ({ realm, hide, users_file }: AuthSettings): Auth => {
      const path = resolve(ctx.baseDir, users_file), key = JSON.stringify([path, realm, hide]);
      const file = files.get(path) ?? new UsersFile(path, ctx.log);
      files.set(path, file);
      const auth = auths.get(key) ?? { realm, hide, users: () => file.users };
      auths.set(key, auth);
      return auth;
    };
    const rules = access.map(({ auth, ...rule }) => ({ ...rule, auth: auth && authOf(auth) }));
    if (files.size > 0) {
      ctx.find(Reloads)?.register(ctx.name, async () => files.forEach((file) => file.reload()));
    }
    const enter = redirects.length + access.length === 0 ? undefined : doorkeeper({
      name: ctx.name,
      access: access.length === 0 ? undefined : new Access(rules, new PasswordCheck(), meter),
      redirects: redirects.length === 0 ? undefined : new Redirects(redirects),
      redirected: redirects.length === 0
        ? noMeter.counter("", "")
        : meter.counter("fairlead_site_redirects_total", "Requests that site.redirects sent elsewhere"),
    });
    const answers = (x: Exchange, next: () => Awaitable<Response>): Awaitable<Response> => {
      const given = enter?.(x);
      if (!thenable(given)) return (given as Response | undefined) ?? next();
      return (given as Promise<Response | undefined>).then((response) => response ?? next());
    };
    const site = headers.length === 0 ? undefined : new SiteHeaders(headers);
    const withHeaders = (x: Exchange, next: () => Awaitable<Response>): Awaitable<Response> => {
      const failed = (error: unknown): never => {
        site!.failed(x, error);
        throw error;
      };
      let given: Awaitable<Response>;
      try {
        given = answers(x, next);
      } catch (error) {
        return failed(error);
      }
      return thenable(given)
        ? (given as Promise<Response>).then((response) => site!.answer(x, response), failed)
        : site!.answer(x, given as Response);
    };
    // Before all others of its order but compression, which is around it: it has to see what is said of a body.
    return { onRequest: { order: "pre", handler: site === undefined ? answers : withHeaders } };
  },
}) as AnyPlugin;
