/** At most three digits that count: `0.12`, `1.23`, `12.3`, `123`. */
function digits(n: number): string {
  const size = Math.abs(n);
  return size >= 99.95 || Number.isInteger(n) ? n.toFixed(0) : size >= 9.995 ? n.toFixed(1) : n.toFixed(2);
}

/** Stands where a number is not known. */
export const unknown = "–";

/** `950`, `12.3k`, `4.56M`. */
export function showCount(n: number | undefined): string {
  if (n === undefined || !Number.isFinite(n)) return unknown;
  const units = ["", "k", "M", "G", "T"];
  let i = 0;
  for (; Math.abs(n) >= 999.5 && i < units.length - 1; i++) n /= 1000;
  return `${i === 0 && Number.isInteger(n) ? n : digits(n)}${units[i]}`;
}

/** `12.3/s`. */
export function showRate(n: number | undefined): string {
  return n === undefined ? unknown : `${showCount(n)}/s`;
}

/** Seconds as `85 µs`, `1.25 ms`, `3.40 s`, `2 min 5 s`, `3 h 4 min`, `2 d 3 h`. */
export function showSeconds(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return unknown;
  if (seconds <= 0) return "0 s";
  if (seconds < 0.000_999_5) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${digits(seconds * 1000)} ms`;
  if (seconds < 99.5) return `${digits(seconds)} s`;
  const whole = Math.round(seconds);
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

/** Bytes as `512 B`, `1.50 KiB`, `123 MiB`. */
export function showBytes(bytes: number | undefined): string {
  if (bytes === undefined || !Number.isFinite(bytes)) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; Math.abs(bytes) >= 999.5 && i < units.length - 1; i++) bytes /= 1024;
  return `${digits(bytes)} ${units[i]}`;
}

/** A share as `12.3 %`. */
export function showPercent(share: number | undefined): string {
  return share === undefined || !Number.isFinite(share) ? unknown : `${digits(share * 100)} %`;
}
