import { type GateOptions, judge, type Verdict } from "./middleware.js";

const PLAIN = /^\/[^\\?#]*(\?[^#]*)?$/; // Express reads other targets, such as `http://host/path`, in its own way

/** What is used of Express's request and response. */
export interface ExpressRequest {
  method: string;
  originalUrl: string;
  protocol: string;
  ip?: string | undefined;
  rawHeaders: string[];
  headers: Record<string, string | string[] | undefined>;
}

export interface ExpressResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  appendHeader(name: string, value: string): unknown;
  writeHead(statusCode: number, ...rest: unknown[]): unknown;
  end(body?: Uint8Array): unknown;
}

export type ExpressOptions<R> = Omit<GateOptions<R>, "address"> & {
  /** The visitor's IP address. Default: `request.ip`, which follows Express's setting `trust proxy`. */
  address?: GateOptions<R>["address"];
};

/** Middleware for Express 4 and 5: asks the service about each visit before the site answers it. */
export function expressGate<R extends ExpressRequest>(options: ExpressOptions<R>) {
  const decide = judge<R>({ address: (request) => request.ip, ...options });

  return async (request: R, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    if (!PLAIN.test(request.originalUrl)) {
      response.statusCode = 400;
      response.end();
      return;
    }
    let verdict: Verdict;
    try {
      const headers = headersOf(request.rawHeaders);
      // Visitors choose their Host: a slash in it would put another page before this one.
      const host = (headers.get("host") ?? "").replace(/[/?#%]/g, encodeURIComponent);
      const url = `${request.protocol}://${host}${request.originalUrl}`;
      verdict = await decide({ method: request.method, url, headers }, request);
    } catch (error) {
      next(error);
      return;
    }
    const { refusal, requestHeaders, replyHeaders } = verdict;
    if (refusal) {
      response.statusCode = refusal.status;
      refusal.headers.forEach((value, name) => response.setHeader(name, value));
      response.end(new Uint8Array(await refusal.arrayBuffer()));
      return;
    }
    const cache = replyHeaders.get("cache-control");
    if (cache !== null) replaceCacheControl(response, cache);
    replyHeaders.delete("cache-control");
    replyHeaders.forEach((value, name) => response.appendHeader(name, value));
    showDecision(request, requestHeaders);
    next();
  };
}

function headersOf(raw: string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < raw.length; at += 2) headers.append(raw[at]!, raw[at + 1]!);
  return headers;
}

/** Replaces what the site says about caching, when it sends the head of its reply. */
function replaceCacheControl(response: ExpressResponse, value: string): void {
  const writeHead = response.writeHead.bind(response);
  const isOther = ([name]: [string, unknown]) => name.toLowerCase() !== "cache-control";
  response.writeHead = (statusCode, ...rest) => {
    response.setHeader("cache-control", value);
    const own = rest.map((part) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).filter(isOther))
        : part,
    );
    return writeHead(statusCode, ...own);
  };
}

/** Removes the visitor's forgeries from the request that the site sees, and adds the decision. */
function showDecision(request: ExpressRequest, shown: Headers): void {
  for (const name of Object.keys(request.headers)) if (!shown.has(name)) delete request.headers[name];
  for (const name of ["x-access-decision", "x-access-requester"]) {
    const value = shown.get(name);
    if (value !== null) request.headers[name] = value;
  }
}
