import * as z from "zod";
import { Exposition } from "../../core/contracts/exposition.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { answerFile, dashboardFiles } from "./files.ts";

const config = z.strictObject({
  enabled: z.boolean().default(true).describe("Show the page at / of the admin listener."),
});

/** Shows the server's numbers as a page at `/` of the admin listener, never on a public one. */
export default definePlugin({
  name: "dashboard",
  api: 1,
  config,
  wants: [Exposition],
  setup(ctx) {
    if (!ctx.config.enabled) return {};
    const files = dashboardFiles(ctx.find(Exposition)?.path ?? "/metrics");
    return {
      // After everybody else: who has something at / keeps it.
      onAdmin: {
        order: "post",
        handler(app) {
          for (const [path, file] of files) app.get(path, (c) => answerFile(file, c.req.header("if-none-match")));
        },
      },
    };
  },
}) as AnyPlugin;
