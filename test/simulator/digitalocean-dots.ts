import { createRequire } from 'node:module';

/** DigitalOcean's own client in TypeScript, generated from the description. It comes without types, so it is known here by the few things that it is used for. */

/** What can be asked of a path. */
export interface Asks {
  readonly get: (how?: { readonly queryParameters: Readonly<Record<string, unknown>> }) => Promise<unknown>;
  readonly post: (body: unknown) => Promise<unknown>;
  readonly put: (body: unknown) => Promise<unknown>;
  readonly patch: (body: unknown) => Promise<unknown>;
  readonly delete: (body?: unknown) => Promise<unknown>;
}

/** A part of a path, or the value of a variable in it with the name of what takes it. */
export type Step = string | readonly [by: string, value: string | number];

export interface Dots {
  readonly at: (...steps: readonly Step[]) => Asks;
  /** The last answer as it came, null where it had no body. */
  readonly heard: () => unknown;
}

interface Library {
  readonly createDigitalOceanClient: (adapter: unknown) => { readonly v2: unknown };
  readonly DigitalOceanApiKeyAuthenticationProvider: new (token: string) => unknown;
}

interface Transport {
  readonly FetchRequestAdapter: new (...args: readonly unknown[]) => { baseUrl: string };
  readonly HttpClient: new (fetch: (url: string, init: RequestInit) => Promise<Response>) => unknown;
}

const require = createRequire(import.meta.url);

export function createDots(url: string, token: string): Dots {
  const { createDigitalOceanClient, DigitalOceanApiKeyAuthenticationProvider } = require('@digitalocean/dots') as Library;
  const ofLibrary = createRequire(require.resolve('@digitalocean/dots'));
  const { FetchRequestAdapter, HttpClient } = ofLibrary('@microsoft/kiota-http-fetchlibrary') as Transport;
  let heard: unknown = null;
  const httpClient = new HttpClient(async (asked, init) => {
    const response = await fetch(asked, init);
    const text = await response.clone().text();
    heard = text === '' ? null : JSON.parse(text);
    return response;
  });
  const adapter = new FetchRequestAdapter(new DigitalOceanApiKeyAuthenticationProvider(token), undefined, undefined, httpClient);
  adapter.baseUrl = url;
  const { v2 } = createDigitalOceanClient(adapter);
  const step = (node: object, one: Step): object =>
    typeof one === 'string' ? Reflect.get(node, one) : Reflect.get(node, one[0]).call(node, one[1]);
  return { at: (...steps) => steps.reduce(step, v2 as object) as unknown as Asks, heard: () => heard };
}

/** Its name for a field. */
export const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
