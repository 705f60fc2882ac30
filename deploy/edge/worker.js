// A Cloudflare Worker in front of a site: asks the licensing service about each request (docs/edge.md).
// Variables: LICENSING_URL, FAIL_OPEN ("on" to fail open). Secret: LICENSING_KEY.
// The addresses that Workers ask from have to be in the service's TRUSTED_PROXIES.

const SENT = ["authorization", "user-agent", "signature", "signature-input", "signature-agent", "crawler-exact-price",
  "crawler-max-price"];
const SHOWN = ["link", "www-authenticate", "retry-after", "crawler-price", "crawler-error", "crawler-charged"];

const picked = (headers, names) =>
  Object.fromEntries(names.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]));

async function ask(request, env) {
  const url = new URL(request.url);
  try {
    const answer = await fetch(`${env.LICENSING_URL}/v1/access/forward`, {
      headers: {
        ...picked(request.headers, SENT),
        "x-licensing-key": env.LICENSING_KEY,
        "x-forwarded-method": request.method,
        "x-forwarded-proto": url.protocol.slice(0, -1),
        "x-forwarded-host": url.host,
        "x-forwarded-uri": url.pathname + url.search,
        "x-forwarded-for": request.headers.get("cf-connecting-ip") ?? "",
      },
    });
    return answer.status >= 500 ? null : answer;
  } catch {
    return null;
  }
}

export default {
  async fetch(request, env) {
    const answer = await ask(request, env);
    if (answer === null && env.FAIL_OPEN !== "on") return new Response("Access could not be checked.", { status: 503 });
    if (answer !== null && answer.status !== 200) {
      const headers = picked(answer.headers, [...SHOWN, "content-type"]);
      return new Response(answer.body, { status: answer.status, headers });
    }
    const headers = new Headers(request.headers);
    for (const name of [...headers.keys()]) {
      if (name.startsWith("x-access-") || name.startsWith("x-licensing-")) headers.delete(name);
    }
    if (answer?.headers.has("x-access-requester")) headers.set("x-access-requester", answer.headers.get("x-access-requester"));
    const response = await fetch(new Request(request, { headers }));
    const shown = new Response(response.body, response);
    for (const [name, value] of Object.entries(answer ? picked(answer.headers, SHOWN) : {})) shown.headers.set(name, value);
    return shown;
  },
};
