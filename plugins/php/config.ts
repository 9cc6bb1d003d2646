import * as z from "zod";

const ini = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** The `[php]` table. */
export interface PhpSettings {
  readonly engine: "auto" | "fpm";
  readonly concurrency: number;
  readonly binary?: string | undefined;
  readonly fastcgi?: string | undefined;
  readonly ini: Readonly<Record<string, string | number | boolean>>;
  readonly env: Readonly<Record<string, string>>;
  readonly clear_env: boolean;
  readonly catch_output: boolean;
  readonly max_requests: number;
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly index: string;
  readonly front_controller: string | false;
  readonly allow?: readonly string[] | undefined;
  readonly deny: readonly string[];
}

export const phpTable: z.ZodType<PhpSettings> = z.strictObject({
  engine: z.enum(["auto", "fpm"]).default("auto").describe("How PHP runs; auto takes fpm."),
  concurrency: z.int().min(0).max(10_000).default(0)
    .describe("PHP processes, and so requests at once; 0 decides by CPUs and memory."),
  binary: z.string().optional().describe("php-fpm to start; found in PATH and /usr/sbin when absent."),
  fastcgi: z.string().optional()
    .describe('Use a php-fpm that runs already: "unix:/PATH" or "HOST:PORT". concurrency must be its pm.max_children.'),
  ini: ini.default({}).describe('php.ini settings, such as { memory_limit = "256M" }.'),
  env: z.record(z.string(), z.string()).default({}).describe(
    "Environment variables PHP sees besides the server's own.",
  ),
  clear_env: z.boolean().default(true)
    .describe(
      "Hide the server's own environment from PHP, as php-fpm does; false suits containers. FAIRLEAD_* are always hidden.",
    ),
  catch_output: z.boolean().default(false)
    .describe("Log what scripts write to php://stderr, for about 30 us a request; error_log() is logged without."),
  max_requests: z.int().min(0).default(0).describe("Replace a PHP process after this many requests; 0 never does."),
  user: z.string().optional().describe("User PHP runs as when the server runs as root; www-data when absent."),
  group: z.string().optional().describe("Group PHP runs as when the server runs as root."),
  index: z.string().default("index.php").describe("Script that answers for a folder."),
  front_controller: z.union([z.string().startsWith("/"), z.literal(false)]).default("/index.php")
    .describe("Script that answers every path that is no file; false for none."),
  allow: z.array(z.string()).optional().describe(
    'The only scripts a URL may name, such as ["/index.php", "/wp-*.php"].',
  ),
  deny: z.array(z.string()).default([]).describe('Scripts that no URL may run, such as ["/uploads/**"].'),
});
