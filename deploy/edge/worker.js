// A Cloudflare Worker in front of a site: the service decides about each request before it goes to the origin
// (docs/reference/edge.md). Secret: LICENSING_KEY. Variables: LICENSING_URL, and OPEN_PATHS once the site enforces.
// OPEN_PATHS is a regular expression of the pages that everybody may read, by plain spellings: no "%", no ";" and no dot
// segments. For example "/(about|open(/[\w-][\w.-]*)*)/?" for /about and everything below /open/; "" if there are none. The
// service is asked about these pages only for crawlers, and for visitors who send a token, a signature or a price. They stay
// open while the service cannot be reached or cannot decide, all others are refused. Without OPEN_PATHS, as for a site that
// observes, the service is asked about every page, and every page stays open.
// The addresses that Workers ask from have to be in the service's TRUSTED_PROXIES.

// The service gets these headers of the visitor's and no others.
const SENT = ["accept", "authorization", "user-agent", "referer", "signature", "signature-input", "signature-agent",
  "crawler-exact-price", "crawler-max-price"];
const SHOWN = [
  "link", "www-authenticate", "retry-after", "crawler-price", "crawler-error", "crawler-charged", "accept-signature",
  "content-usage", "tdm-reservation", "tdm-policy",
];

// Assets, which the service is not asked about: a page has dozens, and nobody licenses a style sheet. They are named by
// folder *and* type, by plain spellings, so that no address of an article can look like one: /premium/a/x.css,
// /assets/..;/premium/a and /premium/a;x.css are asked about. Put in your own folders, of which everybody may have all
// files of these types. Images, documents and data that you license do not belong into them.
const ASSETS = new RegExp(
  "^/(assets|static)(/[a-zA-Z0-9_-]+)*/[a-zA-Z0-9_-][a-zA-Z0-9_.-]*[.](css|js|mjs|map|woff2?|ttf|otf|ico|svg|png|jpe?g|gif|webp|avif)$",
);

// Open to everybody at any time, also while the service is down: crawlers read the terms there, and certificates are renewed.
const PUBLIC = new RegExp(
  "^/(ads[.]txt|app-ads[.]txt|crawlers[.]json|favicon[.]ico|manifest[.]json|robots[.]txt|security[.]txt|(wp-)?sitemap[a-zA-Z0-9_.-]*[.]xml|[a-zA-Z0-9_-][a-zA-Z0-9_.-]*-sitemap[.]xml|([.]well-known|sitemaps)(/[a-zA-Z0-9_-][a-zA-Z0-9_.-]*)+)$",
);

const TERMS = ["/license.xml", "/.well-known/tdmrep.json", "/.well-known/tdm-policy.json"];

// A header with control characters is no HTTP, and the service would refuse the question: it counts as absent.
const isText = (value) => !/[\x00-\x08\x0a-\x1f\x7f]/.test(value);

const picked = (headers, names) =>
  Object.fromEntries(names.map((name) => [name, headers.get(name)]).filter(([, value]) => value !== null && isText(value)));

// The path and query as the origin gets them: a URL object would resolve what origins may read in another way.
const uriOf = (request) => request.url.replace(/^[^:]*:\/\/[^/?#]*/, "").replace(/^(?!\/)/, "/");

// The cookie of limits per visitor, and no other.
const visitorOf = (request) => /(?:^|;)\s*licensing_visitor=([^;]*)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "";

const forwarded = (request, env, url) => ({
  "x-licensing-key": env.LICENSING_KEY,
  "x-licensing-errors": "503", // a wrong key is an outage: it refuses no reader of open pages
  "x-forwarded-method": request.method,
  "x-forwarded-proto": url.protocol.slice(0, -1),
  "x-forwarded-host": url.host,
  "x-forwarded-uri": uriOf(request),
  "x-forwarded-for": request.headers.get("cf-connecting-ip") ?? "",
  "x-licensing-visitor": visitorOf(request),
});

const CRAWLER = /bot|crawl|spider|slurp|archiver|external|https?:|-(user|index|training)|google(other|-)|-google|chatgpt.agent|webindexer|kagi-|autorag|tabstack|cotoyogi|omgili|webzio-|yeti|productsearch|siteaudit|barkrowler|feedly|bingpreview|whatsapp/i;
const DECISIVE = ["authorization", "signature", "signature-input", "signature-agent", "crawler-exact-price",
  "crawler-max-price"];

// People: their User-Agent names no crawler, and they send nothing to be decided about.
const isPerson = ({ headers }) =>
  !CRAWLER.test(headers.get("user-agent") ?? "") && !DECISIVE.some((name) => headers.has(name));

// A service that stalls is not asked again for ten seconds (by this instance of the Worker).
const PAUSE = 10_000;
let pausedUntil = 0;

// Answers of the service itself: a decision, or the refusal of a malformed request, which opens nothing, because a visitor can
// cause it. Another server's answer, such as a login page, is an outage.
const isOwn = ({ status, headers }) =>
  headers.has("x-access-decision") || ([400, 413, 414, 431].includes(status) && headers.has("x-ratelimit-limit"));

// The service's answer, or null while it is unavailable.
async function ask(request, env) {
  if (Date.now() < pausedUntil) return null;
  const url = new URL(request.url);
  try {
    const answer = await fetch(`${env.LICENSING_URL}/v1/access/forward`, {
      headers: { ...picked(request.headers, SENT), ...forwarded(request, env, url) },
      signal: AbortSignal.timeout(2000),
      redirect: "manual",
    });
    return isOwn(answer) ? answer : null;
  } catch (error) {
    if (error.name === "TimeoutError") pausedUntil = Date.now() + PAUSE;
    return null;
  }
}

async function terms(request, env, url) {
  try {
    const signal = AbortSignal.timeout(2000);
    const headers = { ...picked(request.headers, ["if-none-match"]), ...forwarded(request, env, url) };
    const answer = await fetch(env.LICENSING_URL + url.pathname, { headers, signal, redirect: "manual" });
    // What another server answers, such as a login page, is not published as the site's terms.
    if (/x-licensing-key/i.test(answer.headers.get("vary") ?? "")) return answer;
  } catch {
    // as below
  }
  return unavailable("The terms could not be read.");
}

const pathOf = (request) => uriOf(request).replace(/\?.*/s, "");

const isOpen = (request, env) =>
  Boolean(env.OPEN_PATHS) && new RegExp(`^(?:${env.OPEN_PATHS})$`).test(pathOf(request));

const staysOpen = (request, env) =>
  env.OPEN_PATHS === undefined || PUBLIC.test(pathOf(request)) || isOpen(request, env);

const unavailable = (text) =>
  new Response(`<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>${text}</title><p>${text}</p>`, {
    status: 503, headers: { "content-type": "text/html; charset=utf-8", "retry-after": "10", "cache-control": "no-store" },
  });

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (TERMS.includes(url.pathname)) {
      return terms(request, env, url);
    }
    const isUnasked = ASSETS.test(pathOf(request)) || (isPerson(request) && isOpen(request, env));
    const answer = isUnasked ? null : await ask(request, env);
    const decision = answer?.headers.get("x-access-decision");
    const isAllowed = answer?.status === 200 && decision === "allow";
    const isRefused = answer?.status >= 400 && (decision === "deny" || env.OPEN_PATHS !== undefined);
    if (isRefused) {
      const headers = { "cache-control": "no-store", ...picked(answer.headers, [...SHOWN, "content-type", "vary", "x-access-id"]) };
      return new Response(answer.body, { status: answer.status, headers });
    }
    const isOpened = answer === null ? isUnasked || staysOpen(request, env) : env.OPEN_PATHS === undefined;
    if (!isAllowed && !isOpened) return unavailable("Access cannot be checked at the moment. Please try again in a few seconds.");
    // What a visitor sends under these names never reaches the origin.
    const headers = new Headers(request.headers);
    for (const name of [...headers.keys()]) {
      if (/^x[-_](access|licensing)[-_]/.test(name)) headers.delete(name);
    }
    if (answer?.headers.has("x-access-requester")) headers.set("x-access-requester", answer.headers.get("x-access-requester"));
    const response = await fetch(new Request(request, { headers }));
    const shown = new Response(response.body, response);
    for (const [name, value] of Object.entries(answer ? picked(answer.headers, SHOWN) : {})) shown.headers.append(name, value);
    if (answer?.headers.has("set-cookie")) shown.headers.append("set-cookie", answer.headers.get("set-cookie"));
    // A page that is not for everybody, or about which nobody has decided: no shared cache may keep it.
    const cache = isAllowed || isUnasked ? answer?.headers.get("x-access-cache") : "private";
    if (cache) shown.headers.set("cache-control", cache);
    return shown;
  },
};
