import type { Exchange } from "../../core/exchange.ts";
import { canonicalPath, pathOf } from "../../core/http/path.ts";

/** A path that an application may read out of a request, beside the canonical one. */
export interface Reading {
  readonly path: string;
  /** Whether no honest client sends such a request: then nothing that is said of its canonical path opens it. */
  readonly odd: boolean;
}

/**
 * How else an application may read a request. A front controller finds its route in `PATH_INFO` as well: `/index.php/admin` is `/admin` to
 * it. And it sees the target as it was sent, `/admin/x/../../y`, where some split at slashes and skip what they take for an attack.
 */
export function readings({ path, target }: Pick<Exchange, "path" | "target">): readonly Reading[] {
  const found: Reading[] = [];
  const add = (other: string | undefined, odd: boolean) => {
    if (other !== undefined && other !== path) found.push({ path: other, odd });
  };
  if (path.includes(".php/")) add(withoutScript(path), false);
  const raw = pathOf(target);
  if (raw !== path) {
    const undotted = withoutDots(raw);
    add(undotted, true);
    add(undotted && withoutScript(undotted), true);
  }
  return found;
}

/** `/blog/index.php/admin` as `/blog/admin`. */
function withoutScript(path: string): string | undefined {
  const at = path.indexOf(".php/");
  return at < 0 ? undefined : path.slice(0, path.lastIndexOf("/", at)) + path.slice(at + 4);
}

/** A path whose dot segments are left out and lead nowhere; undefined when there are none. */
function withoutDots(raw: string): string | undefined {
  const segments = raw.split(/[/\\]|%2f/i);
  const kept = segments.filter((segment) => !/^(?:\.|%2e){1,2}$/i.test(segment));
  return kept.length === segments.length ? undefined : canonicalPath(`/${kept.join("/")}`);
}
