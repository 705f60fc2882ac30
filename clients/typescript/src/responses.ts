/** The rate limit window that has the fewest requests left. */
export interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  /** When the next window starts. */
  readonly reset: Date;
}

/** Status and headers of a reply. `getResponse` returns it for every result. */
export class ResponseInfo {
  constructor(
    readonly status: number,
    readonly headers: Headers,
  ) {}

  /** The id of the request in the service's log. */
  get requestId(): string | null {
    return this.headers.get("x-request-id");
  }

  /** The resource's ETag, for `ifMatch`. Throws if the reply has none: no write loses its condition. */
  get etag(): string {
    const etag = this.headers.get("etag");
    if (etag === null) {
      throw new Error("This reply has no ETag. Read the resource by its id: lists and deletions have none.");
    }
    return etag;
  }

  get rateLimit(): RateLimit | null {
    const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
      parseNumber(this.headers.get(`x-ratelimit-${name}`)),
    );
    if (limit === undefined || remaining === undefined || reset === undefined) return null;
    return { limit, remaining, reset: new Date(reset * 1000) };
  }

  /** When the operation, or a parameter or field that was sent, became deprecated. Null if it is not. */
  get deprecatedSince(): Date | null {
    const since = parseNumber(this.headers.get("deprecation")?.replace(/^@/, ""));
    return since === undefined ? null : new Date(since * 1000);
  }

  /** When what is deprecated stops working. Null if no date is set. */
  get sunset(): Date | null {
    const date = new Date(this.headers.get("sunset") ?? "");
    return Number.isNaN(date.getTime()) ? null : date;
  }
}

function parseNumber(text: string | null | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

const responses = new WeakMap<object, ResponseInfo>();

export function setResponse<T extends object>(result: T, response: ResponseInfo): T {
  responses.set(result, response);
  return result;
}

/**
 * Return the reply that a result, a member of a list, a list, an export or an `ApiError` came in. A member of a list
 * has the reply of its page. Throws for a copy of a result, and for a list of which nothing has been read yet.
 */
export function getResponse(result: object): ResponseInfo {
  const response = responses.get(result);
  if (!response) {
    throw new Error("No reply is known. Pass what the client returned or threw, not a copy, after its first reply.");
  }
  return response;
}
