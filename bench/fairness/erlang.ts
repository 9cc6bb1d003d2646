/**
 * The sojourn in a closed, saturated, first-come-first-served queue whose services are exponential: exact.
 *
 * @module
 */

/** P(k, x), the regularised lower incomplete gamma function for a whole `k`: the chance that k events come within x. */
export function lowerGamma(k: number, x: number): number {
  if (k === 0) return 1;
  if (x <= 0) return 0;
  // Both series have positive terms only, so nothing cancels; the shorter tail is the one that is summed.
  if (x < k) {
    let term = Math.exp(k * Math.log(x) - x - logFactorial(k)), sum = 0;
    for (let n = k + 1; term > sum * 1e-17; n++) {
      sum += term;
      term *= x / n;
    }
    return sum;
  }
  return 1 - upperGamma(k, x);
}

/** Q(k, x) = 1 - P(k, x), without the subtraction: the chance that fewer than k events come within x. */
export function upperGamma(k: number, x: number): number {
  if (k === 0) return 0;
  if (x < k) return 1 - lowerGamma(k, x);
  let term = Math.exp((k - 1) * Math.log(x) - x - logFactorial(k - 1)), sum = 0;
  for (let n = k - 1; n >= 0; n--) {
    sum += term;
    term *= n / x;
  }
  return sum;
}

function logFactorial(n: number): number {
  let sum = 0;
  for (let i = 2; i <= n; i++) sum += Math.log(i);
  return sum;
}

export interface ClosedQueue {
  /** Clients that ask again as soon as they are answered. */
  readonly clients: number;
  readonly slots: number;
  /** Mean service; its unit is that of every time here. */
  readonly service: number;
}

/**
 * P(R > t). Whoever comes back finds exactly N - c waiters, so that he waits for as many departures, which come at rate
 * a = c / s (Erlang), and is then served for an exponential time of rate b = 1 / s:
 * P(R > t) = Q(N-c, a t) + e^(-b t) (a / (a-b))^(N-c) P(N-c, (a-b) t).
 */
export function exponentialTail({ clients, slots, service }: ClosedQueue, t: number): number {
  if (t <= 0) return 1;
  const a = slots / service, b = 1 / service, k = clients - slots;
  if (slots === 1) return upperGamma(clients, b * t);
  return upperGamma(k, a * t) + Math.exp(k * Math.log(a / (a - b)) - b * t) * lowerGamma(k, (a - b) * t);
}

/**
 * The sojourn that a share `q` of requests does not exceed.
 *
 * @example exponentialQuantile({ clients: 100, slots: 2, service: 1 }, 0.99); // 62.51
 */
export function exponentialQuantile(queue: ClosedQueue, q: number): number {
  let low = 0, high = queue.service;
  while (exponentialTail(queue, high) > 1 - q) high *= 2;
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2;
    if (exponentialTail(queue, middle) > 1 - q) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
