/** The `Content-Type` of a file, from its name. @module */
import { lookup } from "mrmime";

const TEXT = /^text\/|[/+](?:json|xml)$|^application\/(?:javascript|manifest\+json|x-sh)$/;
const PACKED =
  /^(?:video|audio)\/|^image\/(?!svg|bmp|x-ms-bmp|vnd\.microsoft|x-icon)|^font\/woff|[/+](?:zip|gzip|x-7z-compressed|vnd\.rar|zstd)$|officedocument|opendocument/;

const UNKNOWN = "application/octet-stream";

/** mrmime leaves out all types of vendors and all unregistered ones (`vnd.`, `x-`), some of which every site sends. */
const office = "application/vnd.openxmlformats-officedocument";
const oasis = "application/vnd.oasis.opendocument";
const others: ReadonlyMap<string, string> = new Map([
  [".ico", "image/x-icon"],
  [".doc", "application/msword"],
  [".xls", "application/vnd.ms-excel"],
  [".ppt", "application/vnd.ms-powerpoint"],
  [".docx", `${office}.wordprocessingml.document`],
  [".xlsx", `${office}.spreadsheetml.sheet`],
  [".pptx", `${office}.presentationml.presentation`],
  [".odt", `${oasis}.text`],
  [".ods", `${oasis}.spreadsheet`],
  [".odp", `${oasis}.presentation`],
  [".odg", `${oasis}.graphics`],
  [".eot", "application/vnd.ms-fontobject"],
  [".apk", "application/vnd.android.package-archive"],
  [".m3u8", "application/vnd.apple.mpegurl"],
  [".mpd", "application/dash+xml"],
  [".kml", "application/vnd.google-earth.kml+xml"],
  [".kmz", "application/vnd.google-earth.kmz"],
  [".psd", "image/vnd.adobe.photoshop"],
  [".7z", "application/x-7z-compressed"],
  [".rar", "application/vnd.rar"],
  [".tar", "application/x-tar"],
  [".swf", "application/x-shockwave-flash"],
  [".xpi", "application/x-xpinstall"],
  [".crt", "application/x-x509-ca-cert"],
  [".pem", "application/x-x509-ca-cert"],
  [".avi", "video/x-msvideo"],
  [".m4v", "video/x-m4v"],
  [".flv", "video/x-flv"],
  [".wmv", "video/x-ms-wmv"],
]);

function typeOf(path: string): string {
  const dot = path.lastIndexOf(".");
  if (dot <= path.lastIndexOf("/") + 1) return UNKNOWN;
  // Typed by mrmime as string, but `x.constructor` finds what every object has.
  const found: unknown = lookup(path.slice(dot));
  return typeof found === "string" ? found : others.get(path.slice(dot).toLowerCase()) ?? UNKNOWN;
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
