/**
 * A request body as workers get it: whole before a worker is taken.
 *
 * @module
 */

/** A body that has arrived. */
export type RequestBody =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** In a file that the PHP user may read, gone when the request is over. */
  | { readonly kind: "file"; readonly path: string; readonly length: number }
  | FormBody;

/** A form, taken apart as `forms/` does. */
export interface FormBody {
  readonly kind: "form";
  readonly type: "urlencoded" | "multipart";
  /** In the order of the body. */
  readonly parts: readonly FormPart[];
  /** The body as it came, where it is still there: for an urlencoded one, which `php://input` shows. */
  readonly raw: Uint8Array | undefined;
  /** Bytes of the body as it came. */
  readonly length: number;
}

/** Names and values are byte strings: one character for each byte. */
export type FormPart =
  | { readonly kind: "field"; readonly name: string; readonly value: string }
  | {
    readonly kind: "file";
    readonly name: string;
    /** As the client named it, folders included. */
    readonly filename: string;
    /** `Content-Type` of the part up to a `;`; empty when it has none, and with an error. */
    readonly mime: string;
    /** Bytes. */
    readonly size: number;
    /**
     * PHP's UPLOAD_ERR_*: 0 fine, 1 over upload_max_filesize, 2 over the form's MAX_FILE_SIZE, 3 cut, 4 no file,
     * 6 no folder, 7 cannot write.
     */
    readonly error: number;
    /** Where its bytes are; empty with an error. */
    readonly path: string;
  };
