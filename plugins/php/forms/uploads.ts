import type { FormPart } from "../worker/body.ts";
import type { MultipartSink } from "./multipart.ts";
import { deleteFile, SpoolFile, type SpoolPlace } from "./spool_file.ts";

/** PHP's UPLOAD_ERR_NO_TMP_DIR and UPLOAD_ERR_CANT_WRITE. */
const noFolder = 6;
const cannotWrite = 7;

type FilePart = { -readonly [K in keyof Extract<FormPart, { kind: "file" }>]: Extract<FormPart, { kind: "file" }>[K] };

type Step =
  | { readonly upload: Upload; readonly bytes: Uint8Array }
  | { readonly upload: Upload; readonly end: number };

interface Upload {
  readonly part: FilePart;
  file: SpoolFile | undefined;
}

/** Keeps the parts of a multipart form, its files on disk. The parser is synchronous, the disk is not: steps wait in between. */
export class Uploads implements MultipartSink {
  readonly #place: SpoolPlace;
  readonly #parts: FormPart[] = [];
  #steps: Step[] = [];
  #current: Upload | undefined;
  /** Files that are being written: of the current upload, and of those before whose end has not been done yet. */
  readonly #open = new Set<SpoolFile>();

  constructor(place: SpoolPlace) {
    this.#place = place;
  }

  /** Whole after the last {@linkcode flush}. */
  get parts(): readonly FormPart[] {
    return this.#parts;
  }

  field(name: string, value: string): void {
    this.#parts.push({ kind: "field", name, value });
  }

  file(name: string, filename: string, mime: string): void {
    const part: FilePart = { kind: "file", name, filename, mime, size: 0, error: 0, path: "" };
    this.#current = { part, file: undefined };
    this.#parts.push(part);
  }

  fileData(bytes: Uint8Array): void {
    this.#steps.push({ upload: this.#current!, bytes });
  }

  fileEnd(error: number): void {
    const upload = this.#current!;
    if (error === 4) upload.part.error = error;
    else this.#steps.push({ upload, end: error });
  }

  /** Does on disk what has been heard. Errors of the disk go into the parts, as in PHP. Undefined when there is nothing to do. */
  flush(): Promise<void> | undefined {
    return this.#steps.length === 0 ? undefined : this.#run();
  }

  async #run(): Promise<void> {
    const steps = this.#steps;
    this.#steps = [];
    for (const step of steps) {
      const { part } = step.upload;
      if (part.error !== 0) continue;
      await this.#create(step.upload);
      if (step.upload.file === undefined) continue;
      try {
        if ("bytes" in step) await step.upload.file.write(step.bytes);
        else if (step.end === 0) await this.#finish(step.upload.file, part);
        else await this.#drop(step.upload, step.end);
      } catch {
        await this.#drop(step.upload, cannotWrite);
      }
    }
  }

  async #create(upload: Upload): Promise<void> {
    if (upload.file !== undefined) return;
    try {
      upload.file = await SpoolFile.create("upload", this.#place);
      this.#open.add(upload.file);
    } catch {
      await this.#drop(upload, noFolder);
    }
  }

  async #drop({ part, file }: Upload, error: number): Promise<void> {
    part.error = error;
    part.mime = "";
    if (file === undefined) return;
    await file.remove();
    this.#open.delete(file);
  }

  async #finish(file: SpoolFile, part: FilePart): Promise<void> {
    await file.close();
    this.#open.delete(file);
    part.path = file.path;
    part.size = file.length;
  }

  /** Deletes what is there. Never rejects. */
  async remove(): Promise<void> {
    await Promise.all([...this.#open].map((file) => file.remove()));
    await Promise.all(
      this.#parts.map((part) => part.kind === "file" && part.path !== "" ? deleteFile(part.path) : undefined),
    );
  }
}
