import { CoreError } from "../../../core/error.ts";

/** Keeps an error that has a code; anything else came from reading what PHP sent. */
export function coded(error: unknown): CoreError {
  return error instanceof CoreError ? error : protocol(String(error));
}

export function protocol(found: string): CoreError {
  return new CoreError("PHP_PROTOCOL", `Expected a FastCGI response from PHP, found ${found}`, { status: 502 });
}

export function childDied(when: string, cause?: Error): CoreError {
  return new CoreError("PHP_CHILD_DIED", `The PHP process closed its connection ${when}; its log may say why`, {
    status: 502,
    cause,
  });
}

export function refused(status: number): CoreError {
  if (status === 2) {
    return new CoreError("PHP_OVERLOADED", "The FastCGI server says it is overloaded", { status: 503 });
  }
  return new CoreError("PHP_REFUSED", `The FastCGI server refused the request with protocol status ${status}`, {
    status: 502,
  });
}
