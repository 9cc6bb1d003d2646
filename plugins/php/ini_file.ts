import { CoreError } from "../../core/error.ts";
import { type Ini, quoteIni } from "./fpm_config.ts";

/**
 * Settings as a file of php.ini's form.
 *
 * @throws CoreError `PHP_CONFIG` for what cannot be written
 */
export function iniFile(settings: Ini): string {
  return Object.entries(settings).map(([name, value]) => `${iniSetting(name, value)}\n`).join("");
}

/**
 * One setting as `name="value"`: a line of a file, or what stands behind `-d`.
 *
 * @throws CoreError `PHP_CONFIG`
 */
export function iniSetting(name: string, value: Ini[string]): string {
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)) {
    throw new CoreError("PHP_CONFIG", `Cannot configure PHP: "${name}": it is not the name of a PHP setting`);
  }
  return `${name}=${quoteIni(typeof value === "boolean" ? (value ? "1" : "0") : String(value), name)}`;
}
