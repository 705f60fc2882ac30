// One visit to a site behind `gate`: `node gate.mjs DIST < case` prints what the visitor gets.
import { readFileSync } from "node:fs";

const { gate } = await import(`file://${process.argv[2]}/index.js`);
const visit = JSON.parse(readFileSync(0));
const limit = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (milliseconds) => limit(Math.min(milliseconds, visit.timeout));
const failOpen = Array.isArray(visit.failOpen) ? (path) => visit.failOpen.includes(path) : visit.failOpen;
const { url, key, host, method, headers, skipAssets } = visit;
const answer = gate({
  url, key, host, failOpen, skipAssets, address: () => visit.address, requester: async () => visit.who,
});

let request;
try {
  request = new Request(visit.page, { method, headers });
} catch {
  console.log(JSON.stringify({ status: 400, headers: {}, body: "No server takes this." }));
  process.exit();
}
const { refusal, requestHeaders, replyHeaders } = await answer(request);
const page = `Page ${JSON.stringify(Object.fromEntries(requestHeaders))}`;
const reply = refusal ?? new Response(page, { headers: { "cache-control": "public, max-age=60" } });
if (replyHeaders.has("cache-control")) reply.headers.delete("cache-control"); // as the guide says
replyHeaders.forEach((value, name) => reply.headers.append(name, value));
console.log(JSON.stringify({
  status: reply.status, headers: Object.fromEntries(reply.headers), body: await reply.text(),
}));
