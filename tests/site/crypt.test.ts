import { describe, expect, test } from "bun:test";
import { readHash } from "../../plugins/site/crypt/stored_hash.ts";

/** Made with PHP's `password_hash` and `crypt`, `openssl passwd` and, for `{SHA}`, `openssl dgst`. */
const known: readonly (readonly [password: string, hash: string])[] = [
  ["secret", "$2y$04$64gYRgc.9ITdaJj2oaOldujZKKe5kOTnylMNNxrAC/MkL14MtMp.a"],
  [
    "secret",
    "$6$ZA.0KtnEGxcRAeqR$m2iW1fEvdGhGjPAkKmQNd2CFsmHIMYLKZFiM.IS.2k3qcAIg.thWpOTBaIyIbg0e74Q07Eq9GbKOHm8hPCAKm1",
  ],
  ["secret", "$5$t65Vn8bZ4Bzuej3w$NTg.K1JqTMPN0GdbC/Uj./exxBIthrhlv6Nv6eKBHx8"],
  ["secret", "$apr1$dfsVUyH5$1nCEBdfS2UYmFsrR03PaS."],
  ["secret", "$1$hQY1ScW0$/t3pSEjtoiAVdbk2a/jyn."],
  [
    "secret",
    "$6$rounds=1234$saltsalt$DSBPDUZo0nCMWUbkNmW7RMcfxGS7cBvIvCXqeuthKtjYB6G18g/1OQ8smAgXrYCNdMBsO.kPjvs8iRopadGpI/",
  ],
  ["secret", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="],
  ["pä$$ wörd", "$2y$04$1MhirFz7faT4umA5amsGCe0wDiBPEiej9A.LoCObtkOE4uNJ.YaEi"],
  [
    "pä$$ wörd",
    "$6$Vf.x1MiVxxuoBoo2$meUNzNhNgpuqLrcop0/rAfG5h7ApasMo5YZf5jdLkwnNy3TRcJ5ftMXrBoRSN23IqjhHHQaWAdzf0a/JNAGdk/",
  ],
  ["pä$$ wörd", "$5$6BIqCSOHrt0twv.b$hhUC.3akim4IeaSmX/gWdAOL.eGi..TELFNlgD9oUQ5"],
  ["pä$$ wörd", "$apr1$d5WnmSWg$yK7XgYQa2CwIYzbx1aByL/"],
  ["pä$$ wörd", "$1$A/jyQZpH$GPBNO6oMrGT/ld1fAclfM1"],
  [
    "pä$$ wörd",
    "$6$rounds=1234$saltsalt$5WIpRqT0ZBlaMeEPEwL5w0aDOiirrhuH96glBoKoILkROi8K2Sz.SE7B.ytF5N6g0kGRkG7Due48YJofJ851e.",
  ],
  ["pä$$ wörd", "{SHA}PmAR1EMbEbsKiOu57DH2TMreAPU="],
  ["y".repeat(72), "$2y$04$DxSPz9xfdSDTYLQj05xMl.RkbIa8rqTA8z4efplb.wYs98d5a0mfu"],
  [
    "y".repeat(72),
    "$6$d5nrXAiCGpDp3Tv1$HHPFrCqAmvxsNv251qgoLYyBuYyoiuAz6M9NjHJFBwdiT.ekP4qLeQHsmI3R0hmMP2/6eq.UOeRyEPYWtsfGa/",
  ],
  ["y".repeat(72), "$5$QUgpGiIHn8doUlQh$nyMriL.nmYUtAo4corc.QDGL6P7fFgt8zVQ17NB5hF4"],
  ["y".repeat(72), "$apr1$KKdCMmZt$fHw0HdNYuwjtGKJnQSJhh/"],
  ["y".repeat(72), "$1$3tMtPiQ0$cUa1n7zmhRrE42Mc.8IHf1"],
  [
    "y".repeat(72),
    "$6$rounds=1234$saltsalt$r9/bIix.3EE7p.uGKL9/wBJWfnG0URi8qJbHmGnBmVAIEaG94uXimwpI8zemTqR.q6r4t8cxmqCMoLiiCDiY40",
  ],
  ["y".repeat(72), "{SHA}VxmEeyFC02pXQiR53ZmC47wM1b4="],
  ["q".repeat(100), "$2y$04$Kow7kgm7KDRe8SmcerCRzedK25DRQeji7DpPWM/LHM7L5GuEWeBH2"],
  [
    "q".repeat(100),
    "$6$zCE0HzvhVDfZkHie$iW08dpl4PMw4DNJClFICIoKjq6nARe.CUBHBQlEXxZWJgI9923UUyRl1l6IgSvtTzGog5hC1v19tF/BsBnN6S1",
  ],
  ["q".repeat(100), "$5$Rtf0/EebTJqCDpIC$w6oMu0s9YEz6GVeOLQm6ZKv9s77T7qjrgx8UXcYX8R/"],
  ["q".repeat(100), "$apr1$HuOT0LTF$cOKt4aMY.KLnZrLAR0awf0"],
  ["q".repeat(100), "$1$r8HhN7bS$0d29sRfFE0HXFHx6xnTGb1"],
  [
    "q".repeat(100),
    "$6$rounds=1234$saltsalt$Qi25ehpWeYdneV7KWBRqy49npcYQPKhC594C/5VyJchqs5V11MO363Gv3CzG47GcF.0ro7ZYUM51EFkIVoUJC0",
  ],
  ["q".repeat(100), "{SHA}6qixoDHEBwpktB8T9OEOvFutHdY="],
];

function hashed(password: string, text: string): string {
  const steps = readHash(text)!.hash(new TextEncoder().encode(password));
  while (true) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

describe("a password is right", () => {
  for (const [password, hash] of known) {
    test(`${password.slice(0, 12)} (${password.length}) for ${hash.slice(0, 12)}`, () => {
      expect(hashed(password, hash)).toBe(hash);
      expect(hashed(`!${password.slice(1)}`, hash)).not.toBe(hash);
    });
  }
});

test("a hash that is none we know, or would take all day, is not read", () => {
  const bcrypt = known[0]![1];
  for (
    const text of [
      "",
      "secret",
      "rqXexS6ZhobKA",
      "{SSHA}fEgGtbVzfn/dIqLY9CvgYVgrZq0SgDjo",
      "{SHA}abc",
      "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
      "$7$x$y",
      bcrypt.slice(0, -1),
      bcrypt.replace("$2y$", "$2x$"),
      bcrypt.replace(/^\$2y\$\d\d/, "$2y$31"),
      bcrypt.replace(/^\$2y\$\d\d/, "$2y$03"),
      `$6$rounds=99999999$salt$${"a".repeat(86)}`,
      `$6$salt$${"a".repeat(85)}`,
      `$apr1$saltsalt9$${"a".repeat(22)}`,
    ]
  ) expect(readHash(text)).toBe(undefined);
});
