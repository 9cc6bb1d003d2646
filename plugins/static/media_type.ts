/** The `Content-Type` of a file, from its name. @module */
import { lookup } from "mrmime";

const TEXT = /^text\/|[/+](?:json|xml)$|^application\/(?:javascript|manifest\+json|x-sh)$/;
const PACKED =
  /^(?:video|audio)\/|^image\/(?!svg|bmp|x-ms-bmp|vnd\.microsoft|x-icon)|^font\/woff|[/+](?:zip|gzip|x-7z-compressed|zstd)$/;

const UNKNOWN = "application/octet-stream";

function typeOf(path: string): string {
  const dot = path.lastIndexOf(".");
  if (dot <= path.lastIndexOf("/") + 1) return UNKNOWN;
  // Typed by mrmime as string, but `x.constructor` finds what every object has.
  const found: unknown = lookup(path.slice(dot));
  return typeof found === "string" ? found : UNKNOWN;
}

/** The media type with `charset=utf-8` where text is meant; `application/octet-stream` when unknown. */
export function mediaType(path: string): string {
  const type = typeOf(path);
  return TEXT.test(type) ? `${type}; charset=utf-8` : type;
}

/** Whether a type is compressed by itself, so that no `.br` beside it is worth looking for. */
export function isPacked(type: string): boolean {
  return PACKED.test(type);
}
