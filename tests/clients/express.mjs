// One visit to a site of Express behind `expressGate`: `node express.mjs DIST EXPRESS < case` prints what the visitor gets.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { connect } from "node:net";

const { expressGate } = await import(`file://${process.argv[2]}/index.js`);
const express = createRequire(process.argv[3])("express");
const visit = JSON.parse(readFileSync(0));
const limit = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (milliseconds) => limit(Math.min(milliseconds, visit.timeout));
const byPath = (choice) => (Array.isArray(choice) ? (path) => choice.includes(path) : choice);
const { url, key, host, target, scheme, method, address, skipAssets } = visit;

const app = express();
app.set("trust proxy", true);
app.use(expressGate({
  url, key, host, failOpen: byPath(visit.failOpen), skipAssets, requester: async (request) => request.get("x-session"),
}));
app.use((request, response) => {
  response.set("Cache-Control", "public, max-age=60").send(`Page ${JSON.stringify(request.headers)}`);
});

const headers = [...visit.headers, ["x-forwarded-proto", scheme], ["x-forwarded-for", address], ["connection", "close"]];
const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), "", ""];
// The lenient parser lets through what other servers may.
const server = createServer({ insecureHTTPParser: true }, app).listen(0, "127.0.0.1", () => {
  const chunks = [];
  const socket = connect(server.address().port, "127.0.0.1", () => socket.write(lines.join("\r\n"), "latin1"));
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {}); // the server closes while a huge request is still sent
  socket.on("close", () => {
    const [head, ...body] = Buffer.concat(chunks).toString("latin1").split("\r\n\r\n");
    const [status, ...fields] = head.split("\r\n");
    const seen = fields.map((line) => [line.split(":", 1)[0].toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]);
    const reply = { status: Number(status.split(" ")[1] ?? 400), headers: Object.fromEntries(seen), body: body.join("\r\n\r\n") };
    process.stdout.write(JSON.stringify(reply), () => process.exit());
  });
});
