import admission from "../plugins/admission/plugin.ts";
import bulkhead from "../plugins/bulkhead/plugin.ts";
import compress from "../plugins/compress/plugin.ts";
import dashboard from "../plugins/dashboard/plugin.ts";
import db from "../plugins/dbproxy/plugin.ts";
import metrics from "../plugins/metrics/plugin.ts";
import php from "../plugins/php/plugin.ts";
import refresh from "../plugins/refresh/plugin.ts";
import site from "../plugins/site/plugin.ts";
import staticFiles from "../plugins/static/plugin.ts";
import type { AnyPlugin } from "../core/plugin.ts";

/** The plugins in the box. A literal list, so that bundlers see every one of them. */
export const builtin: readonly AnyPlugin[] = [
  metrics,
  compress,
  site,
  refresh,
  admission,
  bulkhead,
  staticFiles,
  db,
  php,
  dashboard,
];
