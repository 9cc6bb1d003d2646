/**
 * The response with the wait told in `Server-Timing: adm;dur=` (ms), or as it is when there was no wait. Headers that cannot
 * be changed (those of a `fetch`) are copied; a response that cannot be copied (101) stays as it is.
 */
export function serverTiming(response: Response, waitedMs: number): Response {
  if (waitedMs <= 0 || response.status === 101) return response;
  const value = `adm;dur=${waitedMs.toFixed(1)}`;
  try {
    response.headers.append("server-timing", value);
    return response;
  } catch {
    const copy = new Response(response.body, response);
    copy.headers.append("server-timing", value);
    return copy;
  }
}
