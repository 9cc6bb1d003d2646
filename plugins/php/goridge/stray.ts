/**
 * What a worker printed where a frame was expected.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import { crcOfSix, HEADER, readWord } from "./frame.ts";

/** Bytes of stray output that an error shows. */
const shown = 512;

/** What stands in stray bytes before the next frame: what the worker printed. */
export function printed(stray: Uint8Array): Uint8Array {
  for (let at = 1; at + HEADER <= stray.byteLength; at++) {
    if (stray[at]! >> 4 === 1 && readWord(stray, at + 6) === crcOfSix(stray, at)) return stray.subarray(0, at);
  }
  return stray;
}

/** The error for bytes that are no frame: shows the first 512 as the text they most probably are. */
export function desync(stray: Uint8Array): CoreError {
  const text = new TextDecoder().decode(printed(stray).subarray(0, shown));
  return new CoreError(
    "PHP_GORIDGE_DESYNC",
    `Expected a Goridge frame on the worker's stdout, found ${JSON.stringify(text)}; ` +
      "a worker must print nothing there but by its library",
    { status: 502 },
  );
}
