import { Operations } from "./operations.js";
import { type Call, infoOf, type Query, requestOf, resultOf, waitAfter } from "./protocol.js";
import { getResponse, type ResponseInfo, setResponse } from "./responses.js";

export interface ClientOptions {
  apiKey: string;
  baseUrl: string;
  /** Attempts after the first one. */
  retries?: number;
  /** Milliseconds that one attempt may take. */
  timeout?: number;
  fetch?: typeof fetch;
}

/** Every operation of the API, with retries; lists are asynchronous generators over all pages. */
export class Client extends Operations {
  constructor(private readonly options: ClientOptions) {
    super();
  }

  private async reply(call: Call): Promise<Response> {
    const { apiKey, baseUrl, retries = 3, timeout = 30_000 } = this.options;
    const send = this.options.fetch ?? fetch;
    const request = requestOf(call, baseUrl, apiKey);
    for (let attempt = 0; ; attempt++) {
      let reply: Response | undefined;
      let failed: unknown;
      try {
        reply = await send(request.clone(), { signal: AbortSignal.timeout(timeout) });
        if (reply.ok) return reply;
      } catch (error) {
        failed = error;
      }
      const wait = attempt < retries ? waitAfter(request, attempt, reply) : undefined;
      if (wait === undefined) {
        if (reply) return reply;
        throw failed;
      }
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }

  async send<T extends object>(call: Call): Promise<T> {
    return resultOf<T>(await this.reply(call), call.answer);
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
    const reply = await this.reply({ method: "GET", path, query });
    if (!reply.ok || !reply.body) return resultOf(reply);
    return setResponse(reply.body, infoOf(reply));
  }
}
