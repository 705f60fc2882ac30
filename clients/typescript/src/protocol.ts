import { AMOUNTS } from "./amounts.js";
import { ApiError } from "./errors.js";
import { ResponseInfo, setResponse } from "./responses.js";

/** The parameters of a list: `{ "type[in]": ["article", "report"], limit: 100 }`. */
export type Query = Record<string, string | number | boolean | readonly (string | number)[] | undefined>;

export interface Call {
  method: string;
  path: string;
  query?: Query;
  body?: unknown;
  idempotencyKey?: string;
  ifMatch?: string;
  /** Whether it gets an Idempotency-Key where none is given. */
  keyed?: boolean;
  /** The type of the reply, or of the members of a list, if it has money in it. */
  answer?: string;
}

export const LONGEST_WAIT = 60; // seconds; who is told to wait longer gets the error

/** The API key. Throws a TypeError that does not show the key if a header cannot carry it. */
export function checkedKey(key: string): string {
  if (!/^[!-~]+$/.test(key)) {
    throw new TypeError(
      "The API key is empty, or has a space, a line break or another character that no key has. " +
        "Strip what surrounds it, such as the end of the line it was read from.",
    );
  }
  return key;
}

/** The URL of a path of the service, whose own address may have a path, too. */
export function urlBelow(baseUrl: string, path: string): URL {
  return new URL(baseUrl.replace(/\/+$/, "") + path);
}

export function requestOf(call: Call, baseUrl: string, apiKey: string): Request {
  const url = urlBelow(baseUrl, call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    // without values the parameter would be dropped, and the list unfiltered
    if (Array.isArray(value) && value.length > 0 && name.endsWith("[in]")) {
      for (const member of value) url.searchParams.append(name, String(member).replaceAll(",", "\\,"));
    } else if (value !== undefined) url.searchParams.set(name, String(value)); // an array is joined by commas
  }
  const headers = new Headers({ authorization: `Bearer ${checkedKey(apiKey)}` });
  const key = call.idempotencyKey ?? (call.keyed ? crypto.randomUUID() : undefined);
  if (key) headers.set("idempotency-key", key);
  if (call.ifMatch) headers.set("if-match", call.ifMatch);
  if (call.body !== undefined) headers.set("content-type", "application/json");
  // A redirect is an error: fetch would follow it by GET, so that a list would be taken for what a POST has created.
  return new Request(url, { method: call.method, headers, body: JSON.stringify(call.body), redirect: "manual" });
}

/** Seconds until the request can be made again; undefined where it cannot. What is not safe to repeat is repeated only
 * where it was surely not carried out. */
export function waitAfter(request: Request, attempt: number, reply?: Response): number | undefined {
  const safe = request.method === "GET" || request.headers.has("idempotency-key") || request.headers.has("if-match");
  const told = reply?.headers.get("retry-after") ?? null;
  if (reply?.status !== 429 && !(safe && (!reply || reply.status >= 500 || told !== null))) return undefined;
  const wait = told !== null && /^\d+$/.test(told) ? Number(told) : 0.25 * 2 ** attempt * (1 + Math.random());
  return wait <= LONGEST_WAIT ? wait : undefined;
}

export function infoOf(reply: Response): ResponseInfo {
  return new ResponseInfo(reply.status, reply.headers);
}

export function resultOf<T extends object>(reply: Response, text: string, answer?: string): T {
  const response = infoOf(reply);
  let told = {};
  try {
    const body = reply.ok ? parsed(text, answer) : undefined;
    if (isObject(body)) return setResponse(body as T, response);
    told = (JSON.parse(text) as { error?: object }).error ?? {};
  } catch {
    // not from the service, but from something before it: ApiError says so
  }
  throw setResponse(new ApiError(reply.status, told, response.requestId), response);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const FREE = ["attributes", "metadata"]; // objects whose names and values are the caller's own
const MARK = "\u0000"; // no text of the API holds it

/** JSON with amounts of money as decimal strings, and all other numbers as they are. */
export function parsed(text: string, answer = ""): unknown {
  const marked = text.replace(TOKEN, (token) => (token.startsWith('"') ? token : `"\\u0000${token}"`));
  return worded(JSON.parse(marked), AMOUNTS[answer] ?? [], "", false);
}

function worded(value: unknown, amounts: string[], parent: string, isMoney: boolean): unknown {
  if (typeof value === "string" && value.startsWith(MARK)) return isMoney ? value.slice(1) : Number(value.slice(1));
  if (Array.isArray(value)) return value.map((member) => worded(member, amounts, parent, isMoney));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (FREE.includes(name)) return [name, worded(member, [], name, false)];
      const money = isMoney || amounts.includes(name) || amounts.includes(`${parent}.${name}`);
      return [name, worded(member, amounts, name, money)];
    }),
  );
}
