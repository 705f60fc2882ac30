import { Operations } from "./operations.js";
import { type Call, infoOf, type Query, requestOf, resultOf, waitAfter } from "./protocol.js";
import { getResponse, type ResponseInfo, setResponse } from "./responses.js";

export interface ClientOptions {
  apiKey: string;
  baseUrl: string;
  /** Attempts after the first one. */
  retries?: number;
  /** Milliseconds that one attempt may take; for an export, until the reply starts. */
  timeout?: number;
  fetch?: typeof fetch;
}

/** Every operation of the API, with retries; lists are asynchronous generators over all pages. */
export class Client extends Operations {
  constructor(private readonly options: ClientOptions) {
    super();
  }

  /** A reply and its text. A successful one is not read if it is `streamed`: then the timeout ends with its headers. */
  private async reply(call: Call, streamed = false): Promise<[Response, string]> {
    const { apiKey, baseUrl, retries = 3, timeout = 30_000 } = this.options;
    const send = this.options.fetch ?? fetch;
    const request = requestOf(call, baseUrl, apiKey);
    for (let attempt = 0; ; attempt++) {
      const clock = new AbortController();
      const timer = setTimeout(() => clock.abort(new DOMException("The attempt timed out.", "TimeoutError")), timeout);
      let reply: Response | undefined;
      let text = "";
      let failed: unknown;
      try {
        const received = await send(request.clone(), { signal: clock.signal });
        if (!(streamed && received.ok)) text = await received.text(); // a reply that ends too early is lost, too
        reply = received;
        if (reply.ok) return [reply, text];
      } catch (error) {
        failed = error;
      } finally {
        clearTimeout(timer);
      }
      const wait = attempt < retries ? waitAfter(request, attempt, reply) : undefined;
      if (wait === undefined) {
        if (reply) return [reply, text];
        throw failed;
      }
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }

  async send<T extends object>(call: Call): Promise<T> {
    return resultOf<T>(...(await this.reply(call)), call.answer);
  }

  pages<T extends object>(call: Call): AsyncGenerator<T> {
    const members = this.members<T>(call, (response) => setResponse(members, response));
    return members;
  }

  private async *members<T extends object>(call: Call, onPage: (response: ResponseInfo) => void): AsyncGenerator<T> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.send<{ data: T[]; nextCursor?: string }>({ ...call, query: { ...call.query, cursor } });
      const response = getResponse(page);
      onPage(response);
      for (const member of page.data) yield setResponse(member, response);
      cursor = page.nextCursor;
      if (cursor === undefined) return;
    }
  }

  /** A list or report as a file, streamed: `client.export("/v1/revenue", { format: "csv" })`. */
  async export(path: string, query: Query & { format: "csv" | "jsonl" }): Promise<ReadableStream<Uint8Array>> {
    const [reply, text] = await this.reply({ method: "GET", path, query }, true);
    if (!reply.ok || !reply.body) return resultOf(reply, text);
    return setResponse(reply.body, infoOf(reply));
  }
}
