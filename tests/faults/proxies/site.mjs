// A site behind `gate` of the TypeScript client: `node site.mjs DIST OPTIONS` prints its port.
import { createServer } from "node:http";

const { gate } = await import(`file://${process.argv[2]}/index.js`);
const { url, key, open } = JSON.parse(process.argv[3]);
const decide = gate({ url, key, failOpen: (path) => open.includes(path), address: () => "203.0.113.9", log: () => {} });

const server = createServer(async ({ headers, url: target }, response) => {
  const verdict = await decide(new Request(`http://${headers.host}${target}`, { headers }));
  const { status, headers: own } = verdict.refusal ?? { status: 200, headers: verdict.replyHeaders };
  const body = verdict.refusal ? await verdict.refusal.text() : '{"page": "of the origin"}';
  response.writeHead(status, Object.fromEntries(own)).end(body);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
