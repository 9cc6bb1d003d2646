/**
 * A certificate authority of the tests' own, and what it has signed.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string;
  /** For `localhost` and 127.0.0.1. */
  readonly cert: string;
  readonly key: string;
  /** Signed by the same authority, for `elsewhere.example` only. */
  readonly otherNameCert: string;
  readonly otherNameKey: string;
  /** An authority that has signed nothing here. */
  readonly otherCa: string;
}

/** Makes them with openssl in a folder that exists. Takes about 0.3 s. */
export function makeCertificates(dir: string): Certificates {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const authority = (name: string) => {
    const [key, cert] = [join(dir, `${name}-key.pem`), join(dir, `${name}.pem`)];
    openssl(
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "30",
      "-subj",
      `/CN=fairlead test ${name}`,
      "-keyout",
      key,
      "-out",
      cert,
    );
    return { key, cert };
  };
  const ca = authority("ca");
  const signed = (name: string, names: string) => {
    const [key, request, cert] = ["-key.pem", ".csr", ".pem"].map((end) => join(dir, `${name}${end}`)) as [
      string,
      string,
      string,
    ];
    writeFileSync(join(dir, `${name}.ext`), `subjectAltName=${names}\n`);
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", `/CN=${name}`, "-keyout", key, "-out", request);
    openssl(
      "x509",
      "-req",
      "-in",
      request,
      "-CA",
      ca.cert,
      "-CAkey",
      ca.key,
      "-CAcreateserial",
      "-days",
      "30",
      "-extfile",
      join(dir, `${name}.ext`),
      "-out",
      cert,
    );
    return { key, cert };
  };
  const here = signed("server", "DNS:localhost,IP:127.0.0.1");
  const elsewhere = signed("elsewhere", "DNS:elsewhere.example");
  return {
    ca: ca.cert,
    cert: here.cert,
    key: here.key,
    otherNameCert: elsewhere.cert,
    otherNameKey: elsewhere.key,
    otherCa: authority("other-ca").cert,
  };
}
