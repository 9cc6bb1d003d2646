/**
 * What a form may be, with PHP's own names and defaults.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";

export interface FormLimits {
  /** `max_input_vars`: fields beyond are left out. */
  readonly maxInputVars: number;
  /** `max_file_uploads`: files beyond are left out. */
  readonly maxFileUploads: number;
  /** `upload_max_filesize` (bytes): a larger file is dropped and gets error 1. 0: no limit. */
  readonly uploadMaxFilesize: number;
  /** `max_multipart_body_parts`: nothing is taken after them. -1: as many as fields and files may be. */
  readonly maxMultipartBodyParts: number;
  /** `post_max_size` (bytes) of a form as it comes, files included: more is refused with 413. 0: no limit. */
  readonly postMaxSize: number;
  /**
   * Bytes of names and values in memory: an urlencoded body, or the fields of a multipart one. More is refused with 413.
   * PHP has no such limit of its own but `post_max_size`, whose default it has here.
   */
  readonly maxFieldBytes: number;
}

export const phpLimits: FormLimits = {
  maxInputVars: 1000,
  maxFileUploads: 20,
  uploadMaxFilesize: 2 * 1024 * 1024,
  maxMultipartBodyParts: -1,
  postMaxSize: 0,
  maxFieldBytes: 8 * 1024 * 1024,
};

/** Parts of a multipart body that are looked at. */
export function partsAllowed(limits: FormLimits): number {
  const { maxMultipartBodyParts: parts, maxInputVars, maxFileUploads } = limits;
  return parts < 0 ? maxInputVars + maxFileUploads : parts;
}

export function malformed(why: string): CoreError {
  return new CoreError("FORM_MALFORMED", `Cannot read the form: ${why}`, { status: 400 });
}

export function tooLarge(what: string, setting: string, limit: number): CoreError {
  return new CoreError("FORM_TOO_LARGE", `Cannot take the form: ${what} over ${setting} (${limit} bytes)`, {
    status: 413,
  });
}
