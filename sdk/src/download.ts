/** A file of the service, read as it arrives: `pipeline(body, createWriteStream(path))`, or `new Response(body).text()`. */
export interface Download {
  /** Fails when the connection breaks, so that a part is never taken for the whole. */
  readonly body: ReadableStream<Uint8Array>;
  readonly contentType: string;
  /** The name that the service gives it. */
  readonly filename: string | undefined;
}

/** The file of a response, which `signal` ends by the response's controller. */
export function toDownload(response: Response, controller: AbortController, signal?: AbortSignal): Download {
  signal?.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
  const { headers } = response;
  return {
    body: response.body ?? new Blob([]).stream(),
    contentType: headers.get('content-type') ?? 'application/octet-stream',
    filename: /\bfilename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1],
  };
}
