import type { Format } from "./exposition.ts";

/**
 * The format a scraper prefers, by the quality values of its `Accept` (RFC 9110, 12.5.1). OpenMetrics must be asked for
 * by name; with equal quality it wins, because whoever names it can read it.
 */
export function preferredFormat(accept: string | null | undefined): Format {
  if (!accept) return "text";
  let open = 0;
  let text = 0;
  for (const range of accept.split(",")) {
    const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const quality = qualityOf(parameters);
    if (type === "application/openmetrics-text") {
      // Prometheus also lists 0.0.1, which nobody is answered with here.
      const version = parameters.find((parameter) => parameter.startsWith("version="));
      if (version === undefined || version === "version=1.0.0") open = Math.max(open, quality);
    } else if (type === "text/plain") {
      text = Math.max(text, quality);
    }
  }
  return open > 0 && open >= text ? "openmetrics" : "text";
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith("q="));
  const quality = given === undefined ? 1 : Number(given.slice("q=".length));
  return quality >= 0 && quality <= 1 ? quality : 0;
}
