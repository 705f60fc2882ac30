import { checkedKey, urlBelow } from "./protocol.js";

const PATH = "/v1/access/middleware";
const TIMEOUT = 2_000; // milliseconds that a visitor waits at most for the service
const PAUSE = 10_000; // milliseconds without questions, so that visitors do not wait for a stalled or slow service
const SLOW_ANSWERS = 10; // in a row, each over half of TIMEOUT, within SLOW_ANSWERS * TIMEOUT: the service is slow
const LOG_PAUSE = 60_000; // milliseconds in which the same reason is logged once
const SENT = ["accept", "authorization", "user-agent", "referer", "signature", "signature-input", "signature-agent",
  "crawler-exact-price", "crawler-max-price"];
const SHOWN = [
  "link", "www-authenticate", "retry-after", "crawler-price", "crawler-error", "crawler-charged", "accept-signature",
  "content-usage", "tdm-reservation", "tdm-policy",
];
const VISITOR = /(?:^|;)\s*licensing_visitor=([^;]*)/; // the cookie of rate limits per visitor; no other is sent
const FACTS = ["x-access-decision", "x-access-requester"];
const MODE = "x-access-mode"; // in replies about a site that refuses nobody
const CAUSED_BY_VISIT = [400, 413, 414, 431]; // answers to a request that is malformed or too large
const MAX_HOSTS = 1_000; // whose mode is remembered; visitors can make them up
const FORGEABLE = /^x[-_](access|licensing)[-_]/; // what visitors send by these names is removed
const MAX_HEADER = 8 * 1024; // characters of one
const MAX_HEADERS = 32 * 1024; // and of all; the service takes more
const DOUBTFUL = /[%;\\]|\/\/|\/\./; // paths that a site may read in another way than `failOpen`
const ASSET =
  /^\/(assets|static)(\/[\w-]+)*\/[\w-][\w.-]*\.(css|js|mjs|map|woff2?|ttf|otf|ico|svg|png|jpe?g|gif|webp|avif)$/;
// The service's free paths: crawlers read the terms there, and certificates are renewed. Nobody licenses these files.
const FREE = new RegExp(
  "^/(ads\\.txt|app-ads\\.txt|crawlers\\.json|favicon\\.ico|license\\.xml|manifest\\.json|robots\\.txt|security\\.txt" +
    "|(wp-)?sitemap[\\w.-]*\\.xml|[\\w-][\\w.-]*-sitemap\\.xml|(\\.well-known|sitemaps)(/[\\w-][\\w.-]*)+)$",
);
const refusalPage = (text: string) =>
  `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>${text}</title>` +
  '<body style="font: 1.1em/1.5 sans-serif; margin: 4em auto; max-width: 32em; padding: 0 1em">' +
  `<p>${text}</p></body></html>`;
const REQUESTER = /^(?:(?=.*\S)[^\0\p{Surrogate}]{1,255})?$/su; // the ids that the service takes, or none
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/g;

/** What a visit is decided by. `url` is as the visitor sent it. */
export type Visit = Pick<Request, "method" | "url" | "headers">;

export interface GateOptions<R = Request> {
  /** Where the service is, and the key of this site. */
  url: string;
  key: string;
  /**
   * Pages that stay open while the service cannot be reached: all, none, or by the path. Free paths such as
   * `/robots.txt` stay open in any case, and all pages of a site that refused nobody when the service last answered.
   */
  failOpen: boolean | ((path: string) => boolean);
  /**
   * Paths that are served without a check: `true` for style sheets, scripts, fonts and images under `/assets/` and
   * `/static/`, or a function of the path. Default: none.
   */
  skipAssets?: boolean | ((path: string) => boolean);
  /** The visitor's IP address, which a `Request` does not have: `cf-connecting-ip` in Workers, for example. */
  address: (request: R) => string | null | undefined;
  /** Who asks, as the site knows it; nothing for a visitor whom it does not know. */
  requester?: (request: R) => string | null | undefined | Promise<string | null | undefined>;
  /** The host of the site. Without it that of `request.url` counts, which visitors may choose. */
  host?: string;
  fetch?: typeof fetch;
  log?: (message: string) => void;
}

export interface Verdict {
  /** The reply to a visitor who may not have the page. */
  refusal?: Response;
  /** The headers of the request for the site: without forgeries, with the decision. */
  requestHeaders: Headers;
  /** Headers to append to the reply, beside the site's own. A `cache-control` among them replaces the site's. */
  replyHeaders: Headers;
}

/**
 * Asks the service about each visit before the site answers it: for Next (`middleware.ts`), Cloudflare Workers, and
 * whatever else has `Request` and `Response`. Each answer is one visitor's, so none is kept.
 */
export function gate(options: GateOptions): (request: Request) => Promise<Verdict> {
  const decide = judge(options);
  return (request) => decide(request, request);
}

/** Decides visits for any framework. `options.address` and `options.requester` get the framework's own `request`. */
export function judge<R>(options: GateOptions<R>): (visit: Visit, request: R) => Promise<Verdict> {
  const { failOpen, skipAssets = false, log = console.error } = options;
  const key = checkedKey(options.key);
  const send = options.fetch ?? ((asked: Request, init: RequestInit) => fetch(asked, init));

  const admitted = (visit: Visit, answer?: Response): Verdict => {
    const requestHeaders = new Headers(visit.headers);
    for (const name of [...requestHeaders.keys()]) if (FORGEABLE.test(name)) requestHeaders.delete(name);
    for (const [name, value] of answer ? picked(answer.headers, FACTS) : []) requestHeaders.set(name, value);
    const replyHeaders = picked(answer?.headers, SHOWN);
    const cookie = answer?.headers.get("set-cookie");
    if (cookie?.startsWith("licensing_visitor=")) replyHeaders.append("set-cookie", cookie);
    const cache = answer?.headers.get("x-access-cache");
    if (cache) replyHeaders.set("cache-control", cache); // not for everybody: no shared cache may keep it
    return { requestHeaders, replyHeaders };
  };
  const refused = (visit: Visit, status: number, body: BodyInit, headers: Headers): Verdict => ({
    ...admitted(visit),
    refusal: new Response(visit.method === "HEAD" ? null : body, { status, headers }),
  });
  // Without the service: a page for browsers, plain text for programs.
  const text = (visit: Visit, status: number, body: string, more = {}) => {
    const isPage = visit.headers.get("accept")?.includes("text/html") ?? false;
    const type = `text/${isPage ? "html" : "plain"}; charset=utf-8`;
    const headers = new Headers({ "content-type": type, "cache-control": "no-store", vary: "Accept", ...more });
    return refused(visit, status, isPage ? refusalPage(body) : body, headers);
  };
  const undecided = (visit: Visit) =>
    text(visit, 503, "Access cannot be checked at the moment. Please try again in a few seconds.", {
      "retry-after": String(PAUSE / 1000),
    });
  const openHosts = new Set<string>(); // whose sites refused nobody, by the newest reply about each
  const remember = (host: string, refusesNobody: boolean) => {
    if (!refusesNobody) return openHosts.delete(host);
    if (openHosts.size >= MAX_HOSTS) openHosts.clear();
    return openHosts.add(host);
  };
  // `failOpen` opens pages only in an outage: visitors can cause anything else.
  const unreachable = (visit: Visit, page: Page, isOutage = true): Verdict => {
    const isOpen = (isOutage && isChosen(failOpen, page)) || openHosts.has(page.host) || isFree(page.path);
    if (!isOpen) return undecided(visit);
    // Nobody has decided whether the page is for everybody: no shared cache may keep it.
    return { ...admitted(visit), replyHeaders: new Headers({ "cache-control": "private" }) };
  };
  const silentUntil = new Map<string, number>(); // by the reason that was logged
  const logOnce = (reason: string, message: string) => {
    if (Date.now() < (silentUntil.get(reason) ?? 0)) return;
    silentUntil.set(reason, Date.now() + LOG_PAUSE);
    log(message);
  };
  const pause = { until: 0, slow: [] as number[], slowUntil: 0 }; // `slow`: times of answers in a row
  const note = (took: number, now = Date.now()) => {
    pause.slow = took < TIMEOUT / 2 ? [] : [...pause.slow, now].slice(-SLOW_ANSWERS);
    if (!pause.slow.length) pause.slowUntil = 0;
    if (pause.slow.length < SLOW_ANSWERS || now - pause.slow[0]! > SLOW_ANSWERS * TIMEOUT) return;
    pause.slowUntil = now + PAUSE;
    logOnce("slow", "The licensing service takes over a second. Pages that stay open without it are not asked about.");
  };

  return async (visit, request) => {
    const page = pageOf(visit.url, options.host);
    if (isChosen(skipAssets === true ? isAsset : skipAssets, page)) return admitted(visit);
    const now = Date.now();
    if (now < pause.until) return unreachable(visit, page);
    if (pause.slowUntil && !unreachable(visit, page).refusal) {
      if (now < pause.slowUntil) return unreachable(visit, page);
      pause.slowUntil = now + PAUSE; // for the others: this visit asks
    }
    let requester = (await options.requester?.(request)) ?? "";
    if (!REQUESTER.test(requester)) {
      logOnce("requester", "`requester` returned no id of up to 255 characters. The visitor counts as unknown.");
      requester = "";
    }
    const asked = question(visit, page, key, options.address(request), requester);
    if (isTooLarge(asked)) return text(visit, 431, "The request's headers are too large.");
    const init = new Request(urlBelow(options.url, PATH), { headers: asked, redirect: "manual" });
    const begin = Date.now();
    let answer: Response;
    let body: ArrayBuffer;
    try {
      answer = await send(init, { signal: AbortSignal.timeout(TIMEOUT) });
      body = await answer.arrayBuffer();
    } catch (error) {
      logOnce("unreachable", `The licensing service cannot be reached: ${String(error)}`);
      if (error instanceof Error && error.name === "TimeoutError") pause.until = Date.now() + PAUSE;
      return unreachable(visit, page);
    }
    note(Date.now() - begin);
    const bodyText = () => new TextDecoder().decode(body);
    const said = () => `${answer.status} ${bodyText().slice(0, 300)}`;
    if (!isDecision(answer)) {
      if (CAUSED_BY_VISIT.includes(answer.status)) {
        logOnce("undecided", `The licensing service did not decide about ${page.url}: ${said()}`);
        return unreachable(visit, page, false);
      }
      if (answer.status < 500) {
        logOnce("url", `The URL did not answer as the licensing service: is it right, without /v1? ${said()}`);
      } else if (isRefusal(bodyText())) {
        logOnce("refused", `The licensing service refused the site's request: ${said()}`);
      } else {
        logOnce("unreachable", `The licensing service cannot be reached: ${said()}`);
      }
      return unreachable(visit, page);
    }
    if (answer.headers.get("x-access-reason") === "host_not_allowed") {
      const advice = "Add the host to the key's allowedHosts.";
      logOnce("host", `The key is not for ${page.host}, so its visitors get 403. ${advice}`);
    }
    // Answers about public files are no decisions.
    if (answer.headers.has("x-access-requester")) remember(page.host, answer.headers.has(MODE));
    if (answer.ok) return admitted(visit, answer);
    const headers = picked(answer.headers, [...SHOWN, "content-type", "vary", "x-access-id"]);
    headers.set("cache-control", "no-store");
    return refused(visit, answer.status, body, headers);
  };
}

interface Page {
  url: string;
  host: string;
  path: string;
}

/** The URL as the site gets it: a URL object would resolve what sites may read in another way. */
function pageOf(url: string, host?: string): Page {
  const [, scheme = "", given = "", path = "", rest = ""] = /^(https?:\/\/)([^/?#]*)([^?#]*)(.*)$/is.exec(url) ?? [];
  const named = host ?? given;
  return { url: `${scheme}${named}${path}${rest}`, host: named, path: path || "/" };
}

function question(visit: Visit, page: Page, key: string, address: string | null = "", requester: string): Headers {
  const asked = picked(visit.headers, SENT);
  if (!asked.has("user-agent")) asked.set("user-agent", "");
  for (const name of SENT) if (asked.has(name)) asked.set(name, asked.get(name)!.replace(UNSENDABLE, " "));
  asked.set("x-licensing-key", key);
  asked.set("x-licensing-errors", "503"); // a wrong key is an outage, which refuses no reader of open pages
  asked.set("x-licensing-method", visit.method);
  asked.set("x-licensing-url", page.url.replace(UNSENDABLE, encodeURIComponent));
  asked.set("x-licensing-requester", encodeURIComponent(requester));
  asked.set("x-licensing-visitor", (VISITOR.exec(visit.headers.get("cookie") ?? "")?.[1] ?? "").replace(UNSENDABLE, ""));
  asked.set("x-licensing-address", (address ?? "").replace(UNSENDABLE, ""));
  return asked;
}

function isTooLarge(headers: Headers): boolean {
  const lengths = [...headers.values()].map((value) => value.length);
  return Math.max(...lengths) > MAX_HEADER || lengths.reduce((sum, length) => sum + length, 0) > MAX_HEADERS;
}

/** Whether the service decided about the page. Otherwise it refused the question, or something else answered. */
function isDecision(answer: Response): boolean {
  const isRefusal = answer.status >= 400 && answer.status < 500;
  return (answer.ok || isRefusal) && answer.headers.get("x-access-decision") === (answer.ok ? "allow" : "deny");
}

/** Whether the service is up and refused the middleware's own request, such as for a wrong key. */
function isRefusal(body: string): boolean {
  try {
    const type: unknown = JSON.parse(body)?.error?.type;
    return typeof type === "string" && type !== "api_error";
  } catch {
    return false;
  }
}

function isChosen(choice: boolean | ((path: string) => boolean), page: Page): boolean {
  return typeof choice === "function" ? !DOUBTFUL.test(page.path) && choice(page.path) : choice;
}

/** Whether the path is a plain spelling of one of the files that are open to everybody. */
export const isFree = (path: string) => FREE.test(path);

const isAsset = (path: string) => ASSET.test(path);

function picked(headers: Headers | undefined, names: string[]): Headers {
  const found = new Headers();
  for (const name of names) {
    const value = headers?.get(name);
    if (value !== null && value !== undefined) found.set(name, value);
  }
  return found;
}
