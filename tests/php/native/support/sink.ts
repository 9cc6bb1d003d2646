import type { ResponseHead } from "../../../../plugins/php/fastcgi/head.ts";
import type { ReplySink } from "../../../../plugins/php/reply_sink.ts";
import { Answer } from "../../fastcgi/support.ts";

/** Keeps what it is told. */
export class Sink extends Answer implements ReplySink {
  readonly early: ResponseHead[] = [];

  onHead(): void {
    throw new Error("heads come as bytes here");
  }

  onBody(): void {
    throw new Error("bodies come with the head here");
  }

  onInformational(head: ResponseHead): void {
    this.early.push(head);
  }

  get head(): string {
    return this.stdout.slice(0, this.stdout.indexOf("\r\n\r\n"));
  }
}
