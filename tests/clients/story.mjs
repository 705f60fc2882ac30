// The story by clients/typescript: `node story.mjs DIST BASE_URL API_KEY` prints what it saw as JSON.
const [dist, baseUrl, apiKey] = process.argv.slice(2);
const { Client, ApiError, DecisionVerifier, getResponse, verify } = await import(`file://${dist}/index.js`);
const client = new Client({ apiKey, baseUrl });
const saw = {};

const item = await client.createContent({ title: "Markets", externalId: "my-first", source: "https://pub.example/a" });
const policy = await client.createPolicy({
  name: "Licensed only",
  rules: [
    { action: "allow", priority: 1, conditions: { hasValidLicense: true }, permissions: ["full_access"] },
    { action: "deny", conditions: { default: true }, message: "Buy a licence." },
  ],
});
await client.updateContent(item.id, { policyId: policy.id });
const denied = await client.checkAccess({ externalId: "my-first", requester: "org_acme" });
saw.denied = [denied.allowed, denied.reason];
const pricePerAccess = { amount: "0.050001", currency: "USD" };
await client.createLicense({ requesterId: "org_globex", licenseType: "pro", pricePerAccess });
saw.charge = (await client.checkAccess({ externalId: "my-first", requester: { id: "org_globex" } })).charge;
saw.total = (await client.getRevenueReport({ period: "7d" })).summary.total;

for (const type of ["report", "image", "article"]) await client.createContent({ title: type, type });
saw.found = [];
await client.createContent({ title: "Yes, we can", type: "dataset" });
for await (const one of client.listContent({ "type[in]": ["report", "article"], limit: 1 })) saw.found.push(one.title);
for await (const one of client.listContent({ "title[in]": ["Yes, we can", "x"] })) saw.found.push(one.title);
saw.file = (await new Response(await client.export("/v1/access/decisions", { format: "csv" })).text()).split("\r\n").length;
try {
  await client.updateContent(item.id, { title: "Other" }, { ifMatch: '"elsewhere"' });
} catch (error) {
  saw.error = [error instanceof ApiError, error.status, error.code, Boolean(error.requestId)];
}

const read = await client.getContent(item.id);
const changed = await client.updateContent(item.id, { title: "Theirs" }, { ifMatch: getResponse(read).etag });
const stale = { ifMatch: getResponse(read).etag };
const conflict = await client.updateContent(item.id, { title: "Mine" }, stale).catch((error) => error);
const fresh = { ifMatch: getResponse(changed).etag };
saw.conditional = [conflict.code, (await client.updateContent(item.id, { title: "Mine" }, fresh)).title];
const list = client.listContent({ limit: 1 });
saw.unread = await Promise.resolve().then(() => getResponse(list)).catch((error) => error.name);
const { value: member } = await list.next();
const file = await client.export("/v1/access/decisions", { format: "csv" });
await file.cancel();
const decision = await client.checkAccess({ externalId: "my-first", requester: "org_acme" });
const deleted = await client.deleteContent((await client.createContent({ title: "Gone" })).id);
const results = { read, changed, conflict, list, file, decision, deleted };
const infos = Object.values(results).map(getResponse);
saw.requestIds = new Set(infos.map((one) => one.requestId)).size - Object.keys(results).length;
saw.pageOfMember = getResponse(member) === getResponse(list);
saw.limited = infos.every(({ rateLimit: one }) => 0 < one.remaining && one.remaining < one.limit && one.reset > new Date());
saw.deprecated = infos.map((one) => one.deprecatedSince ?? one.sunset).filter((one) => one !== null);
saw.withoutTag = await Promise.resolve().then(() => getResponse(member).etag).catch((error) => error.name);
const scripted = (body, headers) =>
  new Client({ apiKey, baseUrl, fetch: async () => new Response(body, { headers }) }).getOwnAccount();
const dates = { deprecation: "@1767225600", sunset: "Wed, 01 Jul 2026 00:00:00 GMT" };
const warned = getResponse(await scripted("{}", dates));
saw.dates = [warned.deprecatedSince, warned.sunset];
const broken = getResponse(await scripted("{}", { deprecation: "soon", sunset: "soon", "x-ratelimit-limit": "many" }));
saw.broken = [broken.deprecatedSince, broken.sunset, broken.rateLimit];
const unreadable = async (body) => {
  const error = await scripted(body, {}).catch((error) => error);
  return [error.code, getResponse(error).status];
};
saw.unreadable = [await unreadable("<p>Hello</p>"), await unreadable("null"), await unreadable("[]")];

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const now = String(Math.floor(Date.now() / 1000));
const body = '{"type": "ping", "data": {"price": {"amount": 0.10}, "metadata": {"amount": 1.5}, "attributes": {"amount": 10}}}';
const bytes = Uint8Array.from(atob(secret.slice(6)), (one) => one.charCodeAt(0));
const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`evt_1.${now}.${body}`));
const signature = `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}`;
const headers = new Headers({ "webhook-id": "evt_1", "webhook-timestamp": now, "webhook-signature": signature });
saw.event = (await verify(body, headers, secret)).data;
saw.node = (await verify(body, { ...Object.fromEntries(headers), accept: ["a", "b"], host: undefined }, secret)).type;
saw.forged = await verify(body.replace("ping", "pong"), headers, secret).catch((error) => error.name);
const noBase64 = { ...Object.fromEntries(headers), "webhook-signature": "v1,AAAAA v1,A=====" };
saw.noBase64 = await verify(body, noBase64, secret).catch((error) => error.name);

let keys = 0;
const counted = (url) => (keys++, fetch(url));
const verifier = new DecisionVerifier(`${baseUrl}/`, { fetch: counted });
const sign = async (requester) =>
  (await client.checkAccess({ contentId: item.id, requester, permission: "read", sign: true })).token;
const expected = { item: item.id, permission: "read", requester: "org_globex" };
const token = await sign("org_globex");
const claims = await verifier.verify(token, expected);
saw.signed = [claims.sub, claims.permission, claims.allowed];
const refusal = (given, asked = expected, by = verifier) => by.verify(given, asked).then(() => "allowed", String);
const [head, payload, mark] = token.split(".");
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
saw.refused = {
  "another permission": await refusal(token, { ...expected, permission: "ai_training" }),
  "no permission": await refusal(token, { ...expected, permission: null }),
  "another item": await refusal(token, { ...expected, item: "cnt_1" }),
  "another requester": await refusal(token, { ...expected, requester: "org_acme" }),
  "a denial": await refusal(await sign("org_acme"), { ...expected, requester: null }),
  changed: await refusal([head, encoded({ ...claims, permission: "ai_training" }), mark].join(".")),
  "an unknown key": await refusal([encoded({ alg: "EdDSA", kid: "sig_1" }), payload, mark].join(".")),
  "no token": await refusal("Bearer"),
};
const another = new DecisionVerifier("https://elsewhere.example", { fetch: () => counted(`${baseUrl}/.well-known/jwks.json`) });
saw.refused["another service"] = await refusal(token, expected, another);
const clock = Date.now;
let isDown = false;
const perhaps = (url, init) => (isDown ? Promise.reject(new TypeError("down")) : fetch(url, init));
const resilient = new DecisionVerifier(baseUrl, { fetch: perhaps });
await resilient.verify(token, expected);
isDown = true;
Date.now = () => clock() + 11_000;
const unknown = [encoded({ alg: "EdDSA", kid: "sig_1" }), payload, mark].join(".");
saw.down = [await refusal(unknown, expected, resilient), await refusal(unknown, expected, resilient)];
Date.now = clock;
saw.down.push(await refusal(token, expected, resilient));
Date.now = () => claims.exp * 1000;
saw.refused.later = await refusal(token);
Date.now = clock;
saw.keys = keys;
const unsendable = (apiKey) =>
  new Client({ apiKey, baseUrl }).getContent("cnt_1").catch((error) => [error.name, error.stack.includes("svc_sk_")]);
saw.unsendable = [await unsendable(`${apiKey}\n`), await unsendable(`svc_sk_hu\nsh`), await unsendable("")];
console.log(JSON.stringify(saw));
