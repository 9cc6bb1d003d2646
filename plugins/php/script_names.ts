/**
 * Which names are PHP scripts, and which only look like it.
 *
 * Comparisons are of ASCII and of exact case. Folding case over Unicode before a path is cut has let a text file run
 * as a script in other servers (GHSA-g966-83w7-6w38).
 *
 * @module
 */

/** Whether the segment names a script: `.php`, in exactly this case, after at least one character. */
export function isScriptName(segment: string): boolean {
  return segment.length > 4 && segment.endsWith(".php");
}

const phpLike =
  // deno-lint-ignore no-control-regex -- trailing control characters are one of the tricks
  /\.(?:php[0-9]?|phps|phtml|pht|phar)(?:[.\s\0-\x1f~#]|\.(?:bak|old|orig|save|swp|swo|tmp))*(?::.*)?$/is;

/**
 * Whether some other server, file system or PHP would take the segment for PHP code, or it is a copy of such a file
 * that an editor left: `.PHP`, `.phtml`, `.phar`, `.php7`, `.php.`, `.php `, `.php::$DATA`, `.php~`, `.php.bak`. It is
 * neither run nor shown.
 */
export function looksLikeScript(segment: string): boolean {
  return phpLike.test(segment);
}

/** Whether the segment is hidden by convention (`.env`, `.git`). */
export function isHidden(segment: string): boolean {
  return segment.startsWith(".");
}
