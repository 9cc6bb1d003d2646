import { Buffer } from "node:buffer";
import type { FormPart } from "../../../plugins/php/worker/body.ts";
import { type FormLimits, phpLimits } from "../../../plugins/php/forms/limits.ts";
import { MultipartParser } from "../../../plugins/php/forms/multipart.ts";

/** A file part whose bytes stand in `path`, in hex, so that two runs can be compared. */
export class Collected {
  readonly parts: FormPart[] = [];
  #bytes: Uint8Array[] = [];

  field(name: string, value: string): void {
    this.parts.push({ kind: "field", name, value });
  }

  file(name: string, filename: string, mime: string): void {
    this.#bytes = [];
    this.parts.push({ kind: "file", name, filename, mime, size: 0, error: 0, path: "" });
  }

  fileData(bytes: Uint8Array): void {
    this.#bytes.push(Uint8Array.from(bytes));
  }

  fileEnd(error: number): void {
    const bytes = Buffer.concat(this.#bytes);
    const part = this.parts.pop() as Extract<FormPart, { kind: "file" }>;
    this.parts.push(
      error === 0 ? { ...part, size: bytes.length, path: bytes.toString("hex") } : { ...part, error, mime: "" },
    );
  }
}

/** Parses chunks as they are. */
export function parse(boundary: string, chunks: readonly Uint8Array[], limits: Partial<FormLimits> = {}): FormPart[] {
  const sink = new Collected();
  const parser = new MultipartParser(boundary, { ...phpLimits, ...limits }, sink);
  for (const chunk of chunks) parser.push(chunk);
  parser.end();
  return sink.parts;
}

/** Cuts bytes at the given places, in any order. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, i) => bytes.slice(i === 0 ? 0 : at[i - 1]!, end));
}

export const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"));

export function streamOf(chunks: readonly Uint8Array[], error?: Error): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (error !== undefined) controller.error(error);
      else controller.close();
    },
  });
}

/** One part of a form as a client writes it. */
export function part(disposition: string, value: string, more: readonly string[] = []): string {
  return ["--b", `Content-Disposition: form-data; ${disposition}`, ...more, "", value, ""].join("\r\n");
}
