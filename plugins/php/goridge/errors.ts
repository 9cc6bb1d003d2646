import { CoreError } from "../../../core/error.ts";

export function onlyEarly(status: number): CoreError {
  return new CoreError(
    "PHP_STATUS_INVALID",
    `Expected a response behind the informational one (${status}) of the worker, found its end`,
    { status: 502 },
  );
}

export function notRun(what: string): CoreError {
  return new CoreError("PHP_WORKER_LEFT", `The worker ${what} before it had begun with the request`, { status: 503 });
}

export function noHandshake(found: string, wanted = "its pid"): CoreError {
  return new CoreError("PHP_GORIDGE_HANDSHAKE", `Expected the worker to answer with ${wanted}, found ${found}`, {
    status: 502,
  });
}
