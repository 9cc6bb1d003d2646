// The MySQL proxy without a web server around it: `bun run examples/mysql-proxy/main.ts mysql://USER:PASSWORD@HOST/DATABASE`
import process from "node:process";
import { createMysqlProxy } from "../../mod.ts";

const [url = "mysql://root@127.0.0.1:3306/test", listen = "127.0.0.1:3307"] = process.argv.slice(2);
const proxy = await createMysqlProxy({ url, listen, max_connections: 20 }, { log: console.log });
console.log("listening", proxy.places);
process.once("SIGTERM", () => void proxy.stop(5000).then(() => process.exit(0)));
setInterval(() => console.log(proxy.pool(), proxy.digests.top({ by: "time", limit: 3 })), 10_000);
