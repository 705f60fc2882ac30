// deploy/edge/worker.js in Node, with a scripted Internet: `node worker.mjs WORKER` prints what a visitor gets as JSON.
const [path] = process.argv.slice(2);
const { default: worker } = await import(`file://${path}`);
const env = { LICENSING_URL: "https://licensing.example", LICENSING_KEY: "svc_sk_x", OPEN_PATHS: "/about" };
const page = () => new Response("Page", { headers: { link: "</a.css>; rel=preload" } });

async function visit(answer, target = "/about") {
  const asked = [];
  globalThis.fetch = async (resource, init) => {
    const request = new Request(resource, init);
    if (new URL(request.url).hostname !== "licensing.example") return page();
    asked.push(request.redirect);
    return answer();
  };
  const reply = await worker.fetch(new Request(`https://pub.example${target}`, { headers: { "user-agent": "GPTBot/1.0" } }), env);
  return { status: reply.status, link: reply.headers.get("link"), redirect: asked[0] };
}

const allow = { "x-access-decision": "allow", link: "</license.xml>; rel=license" };
console.log(
  JSON.stringify({
    allowed: await visit(() => new Response(null, { headers: allow })),
    portal: await visit(() => new Response("Please log in")),
    moved: await visit(() => new Response(null, { status: 302, headers: { location: "https://login.example/" } })),
    denied: await visit(() => new Response("{}", { status: 402, headers: { "x-access-decision": "deny" } })),
    password: await visit(() => new Response("", { status: 401 })),
    odd: await visit(() => new Response("{}", { status: 400, headers: { "x-ratelimit-limit": "600" } })),
    down: await visit(() => new Response("", { status: 503 })),
    terms: await visit(() => new Response("<rsl>", { headers: { vary: "Host, X-Licensing-Key" } }), "/license.xml"),
    portalTerms: await visit(() => new Response("Please log in"), "/license.xml"),
    portalElsewhere: await visit(() => new Response("Please log in"), "/premium"),
    movedElsewhere: await visit(() => new Response(null, { status: 302 }), "/premium"),
    downElsewhere: await visit(() => new Response("", { status: 503 }), "/premium"),
  }),
);
