// What clients/typescript does when replies are lost, redirected or slow: `node lost_replies.mjs DIST` prints it as JSON.
import { createServer } from "node:http";

const [dist] = process.argv.slice(2);
const { Client } = await import(`file://${dist}/index.js`);
const saw = {};
let asked = [];
let answer;
const server = createServer((request, reply) => {
  asked.push(`${request.method} ${request.url} ${request.headers["idempotency-key"] ?? "-"}`);
  answer(request, reply, asked.length);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const baseUrl = `http://127.0.0.1:${server.address().port}`;
const client = new Client({ apiKey: "svc_sk_x", baseUrl, timeout: 500 });
const told = (reply, status, body, headers = {}) => reply.writeHead(status, headers).end(JSON.stringify(body));
const cut = (reply) => {
  reply.writeHead(200, { "content-length": "100" });
  reply.write('{"id":');
  setTimeout(() => reply.destroy(), 50);
};
const outcome = async (promise) => promise.then((result) => result.id ?? result.object, (error) => error.status ?? error.name);
const tried = async (promise, by) => {
  [asked, answer] = [[], by];
  const result = await outcome(promise());
  return [result, asked.map((one) => one.split(" ")[0]), new Set(asked.map((one) => one.split(" ")[2])).size];
};

const check = { contentId: "cnt_1", requester: "org_acme" };
const moved = (request, reply) =>
  request.url === "/there" ? told(reply, 200, { object: "list", data: [] }) : told(reply, 301, {}, { location: "/there" });
saw.redirected = await tried(() => client.createContent({ title: "Item" }), moved);
const cutOnce = (_, reply, count) => (count === 1 ? cut(reply) : told(reply, 200, { id: "cnt_1" }));
saw.cutWrite = await tried(() => client.createContent({ title: "Item" }), cutOnce);
saw.cutRead = await tried(() => client.getContent("cnt_1"), cutOnce);
saw.cutCheck = await tried(() => client.checkAccess(check), cutOnce);

const { gate } = await import(`file://${dist}/index.js`);
[asked, answer] = [[], (_, reply) => told(reply, 200, { id: "cnt_1" }, { "x-access-decision": "allow" })];
await new Client({ apiKey: "svc_sk_x", baseUrl: `${baseUrl}/licensing/` }).getContent("cnt_1");
const licensed = gate({ url: `${baseUrl}/licensing`, key: "svc_sk_x", failOpen: false, address: () => null });
await licensed(new Request("https://pub.example/"));
saw.below = asked.map((one) => one.split(" ")[1]);

answer = (_, reply) => {
  reply.writeHead(200, { "content-type": "text/csv" });
  reply.write("a\r\n");
  setTimeout(() => reply.end("b\r\n"), 900);
};
saw.slowFile = await client
  .export("/v1/content", { format: "csv" })
  .then((file) => new Response(file).text())
  .catch((error) => error.name);
answer = () => {};
const stalled = new Client({ apiKey: "svc_sk_x", baseUrl, timeout: 100, retries: 0 });
saw.stalledFile = await stalled.export("/v1/content", { format: "csv" }).catch((error) => error.name);
const limit = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = () => limit(100);
asked = [];
const statuses = [];
for (const path of ["/", "/a", "/b"]) statuses.push((await licensed(new Request(`https://pub.example${path}`))).refusal);
saw.stalledGate = [asked.length, ...statuses.map((one) => `${one.status} ${one.headers.get("retry-after")}`)];
server.closeAllConnections();
server.close();
console.log(JSON.stringify(saw));
