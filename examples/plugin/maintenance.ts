/**
 * A third-party plugin: answers 503 with a friendly page while a file exists, and lets some addresses through.
 *
 *     [plugins.maintenance]
 *     use = "./maintenance.ts"
 *     flag = "./maintenance.on"
 *     allow = ["127.0.0.1"]
 *
 * Nothing of Fairlead is imported at run time, only its types, so the file loads into the compiled binary too.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import type { AnyPlugin, Context } from "../../mod.ts";

const config = z.strictObject({
  flag: z.string().describe("While this file exists, visitors see the maintenance page."),
  allow: z.array(z.string()).default([]).describe("Client addresses that pass all the same."),
  retry_after: z.int().positive().default(60).describe("Seconds told to clients."),
});

type Settings = z.output<typeof config>;

const plugin: AnyPlugin = {
  name: "maintenance",
  api: 1,
  config,
  setup(ctx: Context<Settings, never, never, never>) {
    const { allow, retry_after } = ctx.config;
    const flag = resolve(ctx.baseDir, ctx.config.flag);
    ctx.log("info", "watching", { flag });
    return {
      onRequest: {
        order: "pre",
        handler(x, next) {
          if (!existsSync(flag) || allow.includes(x.client.address)) return next();
          x.handler = ctx.name;
          return new Response("<h1>Back soon</h1>\n", {
            status: 503,
            headers: { "content-type": "text/html; charset=utf-8", "retry-after": String(retry_after) },
          });
        },
      },
      onRoutes: (app) => void app.get("/-/maintenance", (c) => c.json({ on: existsSync(flag) })),
    };
  },
};

export default plugin;
